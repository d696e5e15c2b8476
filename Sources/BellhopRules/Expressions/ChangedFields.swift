import BellhopCore
import CEL

/// `changes`: each changed field with its old and new value.
final class ChangedFields: HostMap {
    private let changes: JSON.Object
    private let typed: @Sendable (JSON?, String) -> Value

    /// - Parameter typed: converts one end of a change to the field's type.
    init(_ changes: JSON.Object, typed: @escaping @Sendable (JSON?, String) -> Value) {
        self.changes = changes
        self.typed = typed
    }

    var keys: [Value] { changes.keys.map(Value.string) }

    func value(for key: Value) -> Value? {
        guard case .string(let name) = key, let change = changes[name] else { return nil }
        return .map([EventKey.from.rawValue: typed(change[.from], name), EventKey.to.rawValue: typed(change[.to], name)])
    }
}
