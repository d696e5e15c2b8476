import BellhopCore
import CEL

/// The comment of an event, as expressions see it.
final class CommentObject: HostObject {
    private let comment: JSON.Object

    init(_ comment: JSON.Object) { self.comment = comment }

    static let type = ObjectType("a comment", fields: EventCatalogue.comment.map { .init($0.name, type(of: $0)) })

    private static func type(of member: Setting) -> CELType {
        if member.name == EventKey.time.rawValue { return .nullable(.timestamp) }
        return member.type == .boolean ? .bool : .string
    }

    var celType: CELType { .object(Self.type) }
    var fieldNames: [String] { Self.type.fields.map(\.name) }

    func value(named name: String) -> Value? {
        switch Self.type.type(of: name) {
        case .string?: .string(comment[name]?.asString ?? "")
        case .bool?: .bool(comment[name] == true)
        case .some: Value(comment[name], as: .timestamp)
        case nil: nil
        }
    }

    func isEqual(to other: any HostObject) -> Bool {
        (other as? CommentObject).map { JSON.object($0.comment) == .object(comment) } ?? false
    }

    func hash(into hasher: inout Hasher) { hasher.combine(JSON.object(comment)) }
}
