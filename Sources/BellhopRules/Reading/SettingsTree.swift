public import BellhopCore

/// Settings as read: values, and parts known only later, such as templates.
public indirect enum SettingsTree<Deferred: Sendable>: Sendable {
    case value(JSON)
    case deferred(Deferred)
    case list([SettingsTree])
    case members([(name: String, value: SettingsTree)])

    /// The value, if nothing in it was deferred.
    public var json: JSON? {
        switch self {
        case .value(let value): return value
        case .deferred: return nil
        case .list(let items):
            let values = items.compactMap(\.json)
            return values.count == items.count ? .array(values) : nil
        case .members(let members):
            var object = JSON.Object()
            for member in members {
                guard let value = member.value.json else { return nil }
                object[member.name] = value
            }
            return .object(object)
        }
    }

    /// The member of this name.
    public subscript(name: String) -> SettingsTree? {
        switch self {
        case .members(let members): members.first { $0.name == name }?.value
        case .value(let value): value[name].map(SettingsTree.value)
        case .deferred, .list: nil
        }
    }
}
