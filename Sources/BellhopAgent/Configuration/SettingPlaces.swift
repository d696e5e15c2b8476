import BellhopCore
import YAML

/// Where the settings of connections and sources stand in bellhop.yaml, so that what is found out later can point there.
struct SettingPlaces: Sendable {
    private var places: [[String]: Diagnostic.Place] = [:]

    /// Remembers the settings of a connection or a source, however deep.
    ///
    /// - Parameters:
    ///   - path: where the node is: `["connections", "snow"]`.
    ///   - place: the place of a node, as it may be shown.
    mutating func add(_ node: Node, key: Node, at path: [String], place: (Node) -> Diagnostic.Place) {
        // A mapping or a list in block style begins on another line; its key says better where it is.
        places[path] = place(node.scalar == nil ? key : node)
        guard let mapping = node.mapping else { return }
        for pair in mapping { add(pair.value, key: pair.key, at: path + [pair.name], place: place) }
    }

    /// The place of a setting, or of the nearest that it is within.
    ///
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
