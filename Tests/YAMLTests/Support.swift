import Testing
import YAML

/// The root of a text's only document.
func root(_ text: String, _ location: Testing.SourceLocation = #_sourceLocation) throws -> Node {
    let documents = try YAML.parse(text)
    try #require(documents.count == 1, sourceLocation: location)
    return documents[0].root
}

func faults(_ text: String, limits: Limits = Limits()) -> [YAMLError] { faults(Array(text.utf8), limits: limits) }

func faults(_ bytes: [UInt8], limits: Limits = Limits()) -> [YAMLError] {
    do throws(YAMLErrors) {
        _ = try YAML.parse(SourceText(bytes), limits: limits)
        return []
    } catch { return error.errors }
}

/// Faults as `line:column code`.
func places(_ text: String) -> [String] { faults(text).map { "\($0.position) \($0.code.rawValue)" } }

/// The value of a node on one line.
func outline(_ node: Node) -> String {
    switch node.content {
    case .scalar(let scalar):
        switch scalar.value {
        case .null: "null"
        case .bool(let flag): "\(flag)"
        case .int(let number): "\(number)"
        case .float(let number): "\(number)"
        case .string(let text): text.debugDescription
        }
    case .sequence(let items): "[" + items.map(outline).joined(separator: ", ") + "]"
    case .mapping(let mapping): "{" + mapping.map { "\($0.name): \(outline($0.value))" }.joined(separator: ", ") + "}"
    }
}
