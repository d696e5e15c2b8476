import BellhopCore
import CEL

/// Renders a step's templates for one run.
struct Renderer {
    let frame: RunFrame
    let activation: Activation
    let zone: TimeZoneTable
    /// The bytes left for the step's delivery.
    let room: RenderRoom

    init(frame: RunFrame, activation: Activation, zone: TimeZoneTable) {
        (self.frame, self.activation, self.zone) = (frame, activation, zone)
        room = RenderRoom(frame.facts.largestDelivery)
    }

    /// The most lines of a list in a message, whatever the rule says.
    static let maxItems = 1000

    /// The value of an expression. A value computed from null is unknown and, like null, inserted as an empty text.
    private func evaluate(_ expression: RuleExpression) throws(RenderFailure) -> Value {
        let value: Value
        do throws(EvaluationError) {
            value = try expression.program.evaluate(activation)
        } catch {
            guard error.code == .nullOperand else { throw RenderFailure(error) }
            value = .null
        }
        if case .null = value { frame.note(withoutValue: expression) }
        return value
    }

    /// The text of an expression's value; its bytes are taken from the room.
    private func rendered(_ expression: RuleExpression) throws(RenderFailure) -> String {
        try text(of: evaluate(expression))
    }

    private func text(of value: Value) throws(RenderFailure) -> String {
        let text: String
        switch value {
        case .list, .map, .object, .optional:
            // The intermediate JSON has the same limit as the text.
            let making = RenderRoom(frame.facts.largestDelivery)
            text = value.rendered(in: zone, making)
            try making.check()
        case .null, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration, .type:
            text = value.rendered(in: zone, room)
        }
        room.take(text.utf8.count)
        try room.check()
        return text
    }

    private func json(_ value: Value) throws(RenderFailure) -> JSON {
        let json = value.asJSON(in: zone, room)
        try room.check()
        return json
    }

    func text(_ template: TextTemplate) throws(RenderFailure) -> String {
        var text = ""
        for piece in template.pieces {
            switch piece {
            case .text(let own): text += room.taking(own)
            case .value(let expression): text += try rendered(expression)
            }
        }
        return text
    }

    func value(_ template: ArgumentTemplate) throws(RenderFailure) -> JSON {
        switch template {
        case .constant(let value):
            if case .string(let text) = value { room.take(text.utf8.count) }
            try room.check()
            return value
        case .text(let text, let type) where type.isAddress || type.isTarget:
            let address = try AddressText.text(of: text, isPath: type.isTarget, evaluate: rendered)
            return try read(address, as: type)
        case .whole(let expression, let type) where type.isTarget:
            let value = try evaluate(expression)
            if case .list = value { return try read(value, as: .list(.text)) }
            return .string(AddressText.path(try text(of: value)))
        case .text(let text, .path): return .string(try FileName(text, evaluate: rendered).path)
        case .whole(let expression, .path):
            return .string(try FileName(TextTemplate(pieces: [.value(expression)]), evaluate: rendered).path)
        case .text(let text, let type): return try read(try self.text(text), as: type)
        case .whole(let expression, let type): return try read(try evaluate(expression), as: type)
        case .list(let items): return .array(try items.map(value))
        case .members(let members):
            var object = JSON.Object()
            for member in members { object[member.name] = try value(member.value) }
            return .object(object)
        }
    }

    /// The data of an event: a member without a value is absent, unless it is a text or of any type.
    func eventData(_ template: ArgumentTemplate) throws(RenderFailure) -> JSON {
        guard case .members(let members) = template else { return try value(template) }
        var object = JSON.Object()
        for member in members {
            if case .whole(let expression, let type) = member.value, type != .text, type != .json,
                case .null = try evaluate(expression)
            {
                continue
            }
            object[member.name] = try value(member.value)
        }
        return .object(object)
    }

    private func read(_ text: String, as type: SettingType) throws(RenderFailure) -> JSON {
        do throws(SettingProblem) { return try type.value(of: text) } catch { throw RenderFailure(error.message) }
    }

    /// A whole value as an argument of this type: unchanged if the argument takes any, else by its text.
    private func read(_ value: Value, as type: SettingType) throws(RenderFailure) -> JSON {
        switch type {
        case .json, .map, .record: return try json(value)
        case .scalar:
            let json = try json(value)
            if json.asArray == nil, json.asObject == nil { return json }
            throw RenderFailure("a field takes one value, and this is \(value.typeName)")
        case .list(let element):
            guard case .list(let list) = value else { return .array([try read(value, as: element)]) }
            var items: [JSON] = []
            for index in 0..<list.count { items.append(try read(list[index], as: element)) }
            return .array(items)
        case .either(let types):
            if types.contains(.json) { return try json(value) }
            return try read(text(of: value), as: type)
        case .text, .secret, .name, .integer, .number, .boolean, .duration, .size, .rate, .oneOf, .address, .target, .path,
            .markdown, .expression:
            if case .duration(let duration) = value, type == .duration { return .int(duration.wholeMicroseconds) }
            return try read(text(of: value), as: type)
        }
    }

    // MARK: Messages

    func message(_ template: MessageTemplate) throws(RenderFailure) -> Message {
        let own = try section(template.own)
        var message = Message(title: own.title, text: own.text, list: own.list, fields: own.fields)
        message.sections = try template.sections.map(section).filter { !$0.hasOnlyAnEmptyList }
        message.severity = try severity(of: template)
        if let link = template.link {
            let address = try address(link.address)
            let label = try link.label.map { label throws(RenderFailure) in try text(label) }
            if !address.isEmpty {
                let number = frame.reference.flatMap { $0.url == address ? $0.number.nonEmpty : nil }
                message.link = Message.Link(label: label ?? number ?? address, address: address)
            }
        }
        message.mentions = try mentions(of: template)
        message.thread = try thread(of: template)
        message.update = try isTrue(template.update)
        message.resolve = try isTrue(template.resolve)
        return message
    }

    private func thread(of template: MessageTemplate) throws(RenderFailure) -> String? {
        try template.thread.map { thread throws(RenderFailure) in try text(thread) }.flatMap(Message.threadKey)
    }

    /// Fills the plain message that replaces an unrenderable one with the severity, the mentions and the conversation of that one, as far
    /// as these can be rendered. It closes the conversation if the replaced message would.
    /// - Parameter mayClose: false if the condition of the step does not hold, or fails.
    func fillFallback(_ message: inout Message, from template: MessageTemplate, mayClose: Bool) {
        message.severity = (try? severity(of: template)) ?? message.severity
        message.mentions = (try? mentions(of: template)) ?? []
        guard let key = try? thread(of: template) else { return }
        (message.thread, message.resolve) = (key, mayClose && (try? isTrue(template.resolve)) == true)
    }

    private func severity(of template: MessageTemplate) throws(RenderFailure) -> Message.Severity {
        guard let severity = template.severity else { return .info }
        let text = try value(severity).plainText
        guard let level = Message.Severity(rawValue: text) else { throw RenderFailure("`\(text)` is not a severity") }
        return level
    }

    private func section(_ template: MessageTemplate.Section) throws(RenderFailure) -> Message.Section {
        var section = Message.Section(title: try inlines(template.title))
        if let text = template.text { section.text = text.markdown.filled(try texts(text.values)) }
        for field in template.fields {
            section.fields.append(Message.Field(name: [.text(field.name)], value: try inlines(field.value)))
        }
        if let list = template.list { section.list = try render(list) }
        return section
    }

    private func isTrue(_ template: ArgumentTemplate?) throws(RenderFailure) -> Bool {
        guard let template else { return false }
        return try value(template) == true
    }

    /// Members without a value are left out: a task without an assignee mentions no one.
    private func mentions(of template: MessageTemplate) throws(RenderFailure) -> [Message.Mention] {
        guard let written = template.mentions else { return [] }
        let json = try value(written)
        var mentions: [Message.Mention] = []
        for entry in json.asArray ?? [json] {
            if let user = entry["user"]?.plainText.nonEmpty { mentions.append(.user(user)) }
            if let group = entry["group"]?.plainText.nonEmpty { mentions.append(.group(group)) }
        }
        return mentions
    }

    /// The address of a message's link; empty if its value is.
    private func address(_ template: TextTemplate) throws(RenderFailure) -> String {
        let address = try AddressText.text(of: template, evaluate: rendered)
        if address.isEmpty || template.pieces.allSatisfy({ if case .text = $0 { true } else { false } }) { return address }
        return try read(address, as: .address).plainText
    }

    private func inlines(_ template: TextTemplate) throws(RenderFailure) -> [Message.Inline] {
        try template.pieces.map { piece throws(RenderFailure) in
            switch piece {
            case .text(let text): Message.Inline.text(room.taking(text))
            case .value(let expression): Message.Inline.value(try rendered(expression))
            }
        }
    }

    private func texts(_ expressions: [RuleExpression]) throws(RenderFailure) -> [String] { try expressions.map(rendered) }

    private func render(_ list: MessageTemplate.List) throws(RenderFailure) -> Message.List {
        let empty = try list.empty.map { text throws(RenderFailure) in text.markdown.filledInline(try texts(text.values)) } ?? []
        let elements: Value.List
        switch try evaluate(list.elements) {
        case .list(let found): elements = found
        case .null: elements = Value.List([])
        case let other: throw RenderFailure("`of` is a list, and this is \(other.typeName)")
        }
        // Values of one element must not be used for the next: the activation begins anew with each element, and after the last.
        defer {
            frame.element = nil
            activation.begin(frame)
        }
        var items: [[Message.Inline]] = []
        for index in 0..<min(elements.count, list.most ?? Self.maxItems, Self.maxItems) {
            frame.element = elements[index]
            activation.begin(frame)
            items.append(list.item.markdown.filledInline(try texts(list.item.values)))
        }
        return Message.List(items: items, more: elements.count - items.count, empty: empty)
    }
}

/// Why a step could not be rendered.
struct RenderFailure: Error, Sendable, Hashable {
    var message: String

    init(_ message: String) { self.message = message }

    init(_ error: EvaluationError) { message = error.message }
}

/// How many more bytes rendering may produce.
///
/// A class, because all parts of a step share it; used by one thread.
final class RenderRoom {
    private let limit: Int
    private var left: Int

    init(_ limit: Int) {
        self.limit = limit
        left = limit
    }

    /// No limit, for text that is shown and not stored.
    static var unlimited: RenderRoom { RenderRoom(.max) }

    /// How many bytes were taken.
    var used: Int { limit - left }

    var isLeft: Bool { left >= 0 }

    /// Takes this many bytes; false if fewer are left.
    @discardableResult
    func take(_ bytes: Int) -> Bool {
        if left >= 0 { left -= bytes }
        return left >= 0
    }

    func taking(_ text: String) -> String {
        take(text.utf8.count)
        return text
    }

    func check() throws(RenderFailure) {
        if isLeft { return }
        let size = limit % 1000 == 0 ? "\(limit / 1000) KB" : limit % 1024 == 0 ? "\(limit >> 10) KiB" : "\(limit) bytes"
        throw RenderFailure(
            "it would send more than \(size), the limit of `max_delivery` in bellhop.yaml; send less, or raise the limit"
        )
    }
}

extension Message.Section {
    /// Whether all it could show is a list that has no lines and no text in their place.
    fileprivate var hasOnlyAnEmptyList: Bool {
        guard let list else { return false }
        return list.items.isEmpty && list.more == 0 && list.empty.isEmpty && text.isEmpty && fields.isEmpty
    }
}
