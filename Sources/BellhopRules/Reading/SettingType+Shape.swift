import BellhopCore
import YAML

extension SettingType {
    /// Whether a node has the shape of this type.
    func fits(_ node: Node) -> Bool {
        switch self {
        case .map, .record: node.mapping != nil
        case .list(let element): node.items != nil || element.fits(node)
        case .either(let types): types.contains { $0.fits(node) }
        case .json: true
        case .text, .scalar, .secret, .name, .integer, .number, .boolean, .duration, .size, .rate, .oneOf, .address, .target,
            .path, .markdown, .expression:
            node.scalar.map { !$0.isAbsent } ?? false
        }
    }

    /// The settings of a record, even if it is one of several choices.
    var members: [Setting] {
        switch self {
        case .record(let settings): settings
        case .either(let types): types.flatMap(\.members)
        case .text, .scalar, .secret, .name, .integer, .number, .boolean, .duration, .size, .rate, .oneOf, .address, .target,
            .path, .list, .map, .json, .markdown, .expression:
            []
        }
    }
}
