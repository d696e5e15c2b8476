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

    /// The next event, or the fault that ends the stream.
    mutating func next() throws(Fault) -> Event {
        guard isReady else { throw .outOfMemory }
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw Fault(parser.pointee) }
        defer { yaml_event_delete(&event) }
        return Event(event)
    }
}

extension EventParser {
    /// An error in libyaml's own words.
    struct Fault: Error {
        let isMemory: Bool
        let context: String
        let contextMark: Mark
        let problem: String
        let problemMark: Mark

        static let outOfMemory = Fault(isMemory: true)

        private init(isMemory: Bool) {
            self.isMemory = isMemory
            context = ""
            contextMark = Mark()
            problem = ""
            problemMark = Mark()
        }

        init(_ parser: yaml_parser_t) {
            isMemory = parser.error == YAML_MEMORY_ERROR
            context = parser.context.map { String(cString: $0) } ?? ""
            contextMark = Mark(parser.context_mark)
            problem = parser.problem.map { String(cString: $0) } ?? ""
            problemMark = Mark(parser.problem_mark)
        }
    }
}
