import BellhopCore
import CEL

/// `changes`: each changed field with what it was and what it is.
final class ChangedFields: HostMap {
    private let changes: JSON.Object
    private let typed: @Sendable (JSON?, String) -> Value

    /// - Parameter typed: gives one end of a change the field's own type.
    init(_ changes: JSON.Object, typed: @escaping @Sendable (JSON?, String) -> Value) {
        self.changes = changes
        self.typed = typed
    }

    var keys: [Value] { changes.keys.map(Value.string) }

    func value(for key: Value) -> Value? {
        guard case .string(let name) = key, let change = changes[name] else { return nil }
        return .map(["from": typed(change["from"], name), "to": typed(change["to"], name)])
    }
}
