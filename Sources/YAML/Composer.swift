/// Builds documents from events and collects their errors.
struct Composer {
    private(set) var documents: [Document] = []
    private(set) var errors: [YAMLError] = []

    let source: SourceText
    private let limits: Limits
    private var marks: MarkReader
    private var frames: [Frame] = []
    private var anchors: [String: Anchored] = [:]
    private var nodes = 0
    private var isStopped = false

    /// A node that aliases may repeat, with its size and height. `node` is nil while it is still being read.
    private struct Anchored {
        var node: Node?
        var weight = 0
        var height = 0
    }

    init(_ source: SourceText, _ limits: Limits) {
        (self.source, self.limits) = (source, limits)
        marks = MarkReader(source)
    }

    mutating func run(_ events: inout EventParser) {
        while !isStopped {
            do { take(try events.next(source, &marks)) } catch { stop(unclosed(error)) }
        }
    }

    private mutating func take(_ event: Event) {
        switch event.step {
        case .streamStart, .documentEnd: break
        case .streamEnd: isStopped = true
        case .documentStart(let version):
            anchors = [:]
            if let version, version != (1, 2) { refuse(version, at: marks.range(event.start, event.end)) }
        case .alias(let name): alias(name, at: marks.range(event.start, event.end))
        case .scalar(let scalar): take(scalar, event)
        case .start(let kind, let properties, let isFlow): open(kind, properties, isFlow, event)
        case .end: close(event)
        }
    }

    private mutating func take(_ step: Event.ScalarStep, _ event: Event) {
        guard count(1 + step.text.utf8.count / 256, at: event) else { return }
        var range = marks.range(event.start, event.end)
        if !step.properties.isEmpty { range = SourceRange(contentStart(range.start, before: range.end.offset), range.end) }
        switch step.style {
        case .literal, .folded:
            if let header = BlockHeader(source, range.start.offset) { checkSpaceBeforeComment(at: header.indicatorsEnd) }
            range = source.trimmingBlankEnd(of: range)
        case .singleQuoted, .doubleQuoted: checkSpaceBeforeComment(at: range.end.offset)
        case .plain: break
        }
        let value = meaning(of: step, at: range)
        let node = Node(.scalar(Scalar(text: step.text, style: step.style, value: value)), range, in: source)
        if let anchor = step.properties.anchor {
            anchors[anchor] = Anchored(node: node, weight: 1 + step.text.utf8.count / 256)
        }
        add(node, isBare: step.properties.isEmpty, height: 0)
    }

    private mutating func meaning(of step: Event.ScalarStep, at range: SourceRange) -> Value {
        guard let written = step.properties.tag else {
            return step.style == .plain ? CoreSchema.resolve(step.text) : .string(step.text)
        }
        guard let tag = known(written, before: range) else { return .string(step.text) }
        if let value = tag.value(of: step.text) { return value }
        refuse(tag, at: range, found: step.text.isEmpty ? "nothing" : "`\(step.text.prefix(40))`")
        return .string(step.text)
    }

    private mutating func open(_ kind: Frame.Kind, _ properties: Event.Properties, _ isFlow: Bool, _ event: Event) {
        guard count(1, at: event) else { return }
        var start = marks.position(event.start)
        if !properties.isEmpty { start = contentStart(start, before: source.bytes.count) }
        let place = SourceRange(start, start)
        guard frames.count < limits.depth else {
            let message = "lists and mappings are nested more than \(limits.depth) deep"
            return stop(YAMLError(.tooDeep, message, at: place, help: "a bracket may be missing further up"))
        }
        if let written = properties.tag, let tag = known(written, before: place), tag != kind.tag {
            refuse(tag, at: place, found: kind.tag.wanted)
        }
        if let anchor = properties.anchor { anchors[anchor] = Anchored() }
        frames.append(Frame(kind, properties, isFlow: isFlow, start: start, nodesBefore: nodes - 1))
    }

    private mutating func close(_ event: Event) {
        guard let frame = frames.popLast() else { return }
        let last = frame.lastChild.map { ($0.alias ?? $0.range).end } ?? frame.start
        // A single-pair mapping in a flow list, `[a: b]`, has no bracket of its own.
        let hasBracket = frame.isFlow && event.start.index != event.end.index
        let end = hasBracket ? marks.position(event.end) : last
        let range = SourceRange(frame.start, end)
        if hasBracket { checkSpaceBeforeComment(at: range.end.offset) }
        let node = Node(frame.content, range, in: source)
        if let anchor = frame.properties.anchor {
            anchors[anchor] = Anchored(node: node, weight: nodes - frame.nodesBefore, height: frame.height)
        }
        add(node, isBare: false, height: frame.height)
    }

    private mutating func alias(_ name: String, at range: SourceRange) {
        guard let anchored = anchors[name] else {
            let message = "there is no `&\(name)` above this `*\(name)`"
            let help = "write `&\(name)` before the value that is meant, or put the text in quotes"
            report(YAMLError(.unknownAlias, message, at: range, help: help))
            return add(missing(name, at: range), isBare: false, height: 0)
        }
        guard let node = anchored.node else {
            report(YAMLError(.recursiveAlias, "`*\(name)` is inside the value that it repeats", at: range))
            return add(missing(name, at: range), isBare: false, height: 0)
        }
        nodes += anchored.weight
        guard nodes <= limits.nodes else {
            let message = "repeating `&\(name)` here expands the text to more than \(limits.nodes) values"
            return stop(YAMLError(.aliasExpansion, message, at: range, help: "use fewer aliases (`*`)"))
        }
        guard frames.count + anchored.height <= limits.depth else {
            let message = "repeating `&\(name)` here nests lists and mappings more than \(limits.depth) deep"
            return stop(YAMLError(.tooDeep, message, at: range))
        }
        add(node.aliased(at: range), isBare: false, height: anchored.height)
    }

    /// Adds a finished node to its parent. `isBare`: it has no anchor, tag or alias.
    private mutating func add(_ node: Node, isBare: Bool, height: Int) {
        guard !frames.isEmpty else { return documents.append(Document(root: node)) }
        if let error = frames[frames.count - 1].add(node, isBare: isBare, height: height) { report(error) }
    }

    /// At the end of the text, an unclosed bracket is the cause of a missing value.
    private func unclosed(_ error: YAMLError) -> YAMLError {
        guard error.code == .missingValue, source.byte(error.position.offset) == nil, let frame = frames.last, frame.isFlow else {
            return error
        }
        let message = "the `\(frame.kind == .sequence ? "[" : "{")` that opens here is never closed"
        var error = YAMLError(.unclosedBracket, message, at: source.oneCharacter(at: frame.start))
        error.context = frame.start
        return error
    }

    /// Replaces an unknown alias, so that reading can go on.
    private func missing(_ name: String, at range: SourceRange) -> Node {
        Node(.scalar(Scalar(text: "*" + name, style: .plain, value: .null)), range, in: source)
    }

    /// Counts nodes. Stops and returns false if there are too many.
    private mutating func count(_ weight: Int, at event: Event) -> Bool {
        nodes += weight
        guard nodes > limits.nodes else { return true }
        let place = marks.range(event.start, event.start)
        stop(YAMLError(.tooManyNodes, "the text holds more than \(limits.nodes) values", at: place))
        return false
    }

    private mutating func known(_ written: String, before content: SourceRange) -> Tag? {
        if let tag = Tag(rawValue: written) { return tag }
        let prefix = "tag:yaml.org,2002:"
        let shown = written.hasPrefix(prefix) ? "!!" + written.dropFirst(prefix.count) : written
        let place = source.tagRange(before: content.start)
        let help = "known tags are \(Tag.names); a text that begins with `!` needs quotes"
        report(YAMLError(.unknownTag, "unknown tag `\(shown)`", at: place, help: help))
        return nil
    }

    private mutating func refuse(_ tag: Tag, at range: SourceRange, found: String) {
        let message = "`\(tag.written)` needs \(tag.wanted), but this is \(found)"
        report(YAMLError(.tagMismatch, message, at: range, help: "delete the tag or change the value"))
    }

    private mutating func refuse(_ version: (major: Int, minor: Int), at range: SourceRange) {
        let message = "the text declares YAML \(version.major).\(version.minor), but is read as YAML 1.2"
        let line = source.range(range.start.offset..<source.lineOffsets(range.start.line).upperBound)
        report(YAMLError(.version, message, at: line, help: "delete the line, or write `%YAML 1.2`"))
    }

    private mutating func checkSpaceBeforeComment(at offset: Int) {
        guard source.byte(offset) == ASCII.hash else { return }
        let place = source.range(offset..<offset + 1)
        report(YAMLError(.commentNeedsSpace, "a comment begins with a space and `#`", at: place))
    }

    /// The start of a node's content, after its anchor and tag.
    private mutating func contentStart(_ start: Position, before end: Int) -> Position {
        let offset = source.skipProperties(from: start.offset, to: end)
        let content = source.position(ofOffset: offset)
        // libyaml ends a name at `:` and similar characters; in YAML 1.2 they belong to the name (YAML 1.2.2, 6.9.2).
        if offset > start.offset, offset < end, !source.byte(offset - 1).isBlankOrEnd {
            let place = source.range(start.offset..<offset)
            let help = "put a space after the name, or the whole value in quotes if it is a text"
            report(YAMLError(.anchorName, "an anchor's name ends with a space", at: place, help: help))
        }
        return content
    }

    private mutating func report(_ error: YAMLError) {
        var error = error
        if let frame = frames.last, frame.isFlow { error.context = frame.start }
        errors.append(error)
        guard errors.count >= 100 else { return }
        isStopped = true
        errors.append(YAMLError(.tooManyErrors, "too many errors; the rest of the text was not read", at: error.range))
    }

    private mutating func stop(_ error: YAMLError) {
        var error = error
        error.isFatal = true
        isStopped = true
        // Errors on the same line are most likely consequences of this one.
        errors.removeAll {
            $0.position.line == error.position.line && [.commaInFlow, .unknownAlias, .unknownTag].contains($0.code)
        }
        errors.append(error)
    }
}
