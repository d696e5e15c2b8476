import BellhopCore
import YAML

/// The places of the settings of connections, sources and the console in bellhop.yaml, so that later diagnostics can point there.
struct SettingPlaces: Sendable {
    private var places: [[String]: Diagnostic.Place] = [:]

    /// Records the places of all settings of a connection or a source, nested ones too.
    /// - Parameters:
    ///   - path: the node's path: `["connections", "snow"]`.
    ///   - place: gives the place of a node, as messages may show it.
    mutating func add(_ node: Node, key: Node, at path: [String], place: (Node) -> Diagnostic.Place) {
        // A block-style mapping or list begins on a later line than its key; point to the key.
        places[path] = place(node.scalar == nil ? key : node)
        guard let mapping = node.mapping else { return }
        for pair in mapping { add(pair.value, key: pair.key, at: path + [pair.name], place: place) }
    }

    /// The place of a setting, or of its nearest known parent.
    /// - Parameter setting: a path with dots, as `auth.basic.password`; nil for all of them.
    func place(of name: String, in section: String, setting: String?) -> Diagnostic.Place? {
        var path = [section, name] + (setting?.split(separator: ".").map(String.init) ?? [])
        while path.count > 1 {
            if let place = places[path] { return place }
            path.removeLast()
        }
        return nil
    }
}
