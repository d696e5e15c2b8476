import CLibYAML

/// Owns one libyaml parser and returns its events.
///
/// It is on the heap because libyaml keeps a pointer to it inside itself. The bytes must outlive it.
struct EventParser: ~Copyable {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let isReady: Bool

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        parser = .allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
        isReady = yaml_parser_initialize(parser) == 1
        guard isReady else { return }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
    }

    deinit {
        if isReady { yaml_parser_delete(parser) }
        parser.deallocate()
    }

    /// The next event, or the error that ends the stream.
    mutating func next(_ source: SourceText, _ marks: inout MarkReader) throws(YAMLError) -> Event {
        var event = yaml_event_t()
        guard isReady, yaml_parser_parse(parser, &event) == 1 else { throw error(source, &marks) }
        defer { yaml_event_delete(&event) }
        return Event(event)
    }

    /// libyaml's error in terms that a YAML user knows.
    private func error(_ source: SourceText, _ marks: inout MarkReader) -> YAMLError {
        guard isReady, parser.pointee.error != YAML_MEMORY_ERROR else {
            return YAMLError(.outOfMemory, "out of memory while reading the text", at: source.range(0..<0))
        }
        let place = source.oneCharacter(at: marks.position(Mark(parser.pointee.problem_mark)))
        let context = source.oneCharacter(at: marks.position(Mark(parser.pointee.context_mark)))
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? ""
        let construct = parser.pointee.context.map { String(cString: $0) } ?? ""
        let wording = Wording(problem: problem, context: construct, next: source.byte(place.start.offset))
        let isAtContext = wording.isAtContext && !construct.isEmpty
        var error = YAMLError(wording.code, wording.message, at: isAtContext ? context : place, help: wording.help)
        if !construct.isEmpty { error.context = context.start }
        if error.code == .unclosedBracket, context.start.line < place.start.line, let opening = source.byte(context.start.offset)
        {
            error.note = YAMLError.Note(range: context, message: "`\(Character(Unicode.Scalar(opening)))` opens here")
        }
        return error
    }
}

extension SourceText {
    /// The character at a place; empty at the end of a line.
    func oneCharacter(at place: Position) -> SourceRange {
        guard let byte = byte(place.offset), !ASCII.isBreak(byte) else { return SourceRange(place, place) }
        var end = place.offset + 1
        while let next = self.byte(end), UTF8.isContinuation(next) { end += 1 }
        return SourceRange(place, Position(offset: end, line: place.line, column: place.column + 1))
    }
}
