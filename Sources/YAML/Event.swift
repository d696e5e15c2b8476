import CLibYAML

/// A place as libyaml counts: line, column and index from 0, in characters, without the byte order mark.
struct Mark {
    let index: Int
    let line: Int
    let column: Int

    init(_ mark: yaml_mark_t) {
        index = Int(mark.index)
        line = Int(mark.line)
        column = Int(mark.column)
    }
}

/// One step of a stream.
struct Event {
    enum Step {
        case streamStart
        case streamEnd
        case documentStart(version: (major: Int, minor: Int)?)
        case documentEnd
        case alias(String)
        case scalar(ScalarStep)
        case start(Frame.Kind, Properties, isFlow: Bool)
        case end
    }

    /// The anchor and tag before a node.
    struct Properties {
        let anchor: String?
        let tag: String?

        var isEmpty: Bool { anchor == nil && tag == nil }
    }

    struct ScalarStep {
        let properties: Properties
        let text: String
        let style: Scalar.Style
    }

    let step: Step
    let start: Mark
    let end: Mark

    init(_ event: yaml_event_t) {
        start = Mark(event.start_mark)
        end = Mark(event.end_mark)
        switch event.type {
        case YAML_STREAM_START_EVENT: step = .streamStart
        case YAML_DOCUMENT_START_EVENT:
            let version = event.data.document_start.version_directive
            step = .documentStart(version: version.map { (Int($0.pointee.major), Int($0.pointee.minor)) })
        case YAML_DOCUMENT_END_EVENT: step = .documentEnd
        case YAML_ALIAS_EVENT: step = .alias(text(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT: step = .scalar(ScalarStep(event))
        case YAML_SEQUENCE_START_EVENT:
            let data = event.data.sequence_start
            let properties = Properties(anchor: text(data.anchor), tag: text(data.tag))
            step = .start(.sequence, properties, isFlow: data.style == YAML_FLOW_SEQUENCE_STYLE)
        case YAML_MAPPING_START_EVENT:
            let data = event.data.mapping_start
            let properties = Properties(anchor: text(data.anchor), tag: text(data.tag))
            step = .start(.mapping, properties, isFlow: data.style == YAML_FLOW_MAPPING_STYLE)
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: step = .end
        default: step = .streamEnd  // YAML_STREAM_END_EVENT, and YAML_NO_EVENT after it
        }
    }
}

extension Event.ScalarStep {
    fileprivate init(_ event: yaml_event_t) {
        let data = event.data.scalar
        style =
            switch data.style {
            case YAML_SINGLE_QUOTED_SCALAR_STYLE: .singleQuoted
            case YAML_DOUBLE_QUOTED_SCALAR_STYLE: .doubleQuoted
            case YAML_LITERAL_SCALAR_STYLE: .literal
            case YAML_FOLDED_SCALAR_STYLE: .folded
            default: .plain
            }
        self.text = String(decoding: UnsafeBufferPointer(start: data.value, count: data.length), as: UTF8.self)
        // libyaml drops the tag `!`; it shows only in a plain scalar that is not implicitly plain.
        let isBareExclamation = data.tag == nil && style == .plain && data.plain_implicit == 0
        properties = Event.Properties(anchor: YAML.text(data.anchor), tag: isBareExclamation ? "!" : YAML.text(data.tag))
    }
}

private func text(_ characters: UnsafeMutablePointer<yaml_char_t>?) -> String? {
    characters.map { String(cString: $0) }
}
