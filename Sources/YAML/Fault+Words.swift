extension EventParser.Fault {
    /// The error in terms that a YAML user knows.
    func inPlainWords(_ source: SourceText, _ marks: inout MarkReader) -> YAMLError {
        let place = source.oneCharacter(at: marks.position(problemMark))
        let context = source.oneCharacter(at: marks.position(contextMark))
        if isMemory { return YAMLError(.outOfMemory, "out of memory while reading the text", at: source.range(0..<0)) }
        let wording = Wording(problem: problem, context: self.context, next: source.byte(place.start.offset))
        let isAtContext = wording.isAtContext && !self.context.isEmpty
        var error = YAMLError(wording.code, wording.message, at: isAtContext ? context : place, help: wording.help)
        if !self.context.isEmpty { error.context = context.start }
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
