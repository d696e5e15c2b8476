import BellhopCore
import CEL

/// The journal entry of an event, as expressions see it.
final class CommentObject: HostObject {
    private let comment: JSON.Object

    init(_ comment: JSON.Object) { self.comment = comment }

    static let type = ObjectType(
        "a comment",
        fields: [
            .init("text", .string), .init("author", .string), .init("kind", .string), .init("time", .nullable(.timestamp)),
            .init("own", .bool), .init("proved", .bool),
        ])

    var celType: CELType { .object(Self.type) }
    var fieldNames: [String] { Self.type.fields.map(\.name) }

    func value(named name: String) -> Value? {
        switch name {
        case "text", "author", "kind": .string(comment[name]?.asString ?? "")
        case "time": Value(comment[name], as: .timestamp)
        case "own": .bool(comment[name] == .bool(true))
        case "proved": .bool(comment[name] != .bool(false))
        default: nil
        }
    }

    func isEqual(to other: any HostObject) -> Bool {
        (other as? CommentObject).map { JSON.object($0.comment) == .object(comment) } ?? false
    }

    func hash(into hasher: inout Hasher) { hasher.combine(JSON.object(comment)) }
}
