public import BellhopCore

/// The structured filter's operators, for the reference page.
public enum FilterReference {
    public struct Row: Sendable, Hashable {
        public var word: String
        public var summary: String
        /// A condition as in bellhop.yaml.
        public var example: String
        /// The encoded query it compiles to.
        public var encoded: String
    }

    public static var operators: [Row] {
        FilterOperator.allCases.map { how in
            let (summary, field, example) = how.reference
            let condition: JSON = .object([field: .object([how.rawValue: example])])
            let compiled: String
            do throws(SettingComplaints) {
                compiled = try Filter(condition).query.text
            } catch {
                preconditionFailure("an example of the reference is wrong: \(error.all)")
            }
            return Row(
                word: how.rawValue, summary: summary, example: "\(field): {\(how.rawValue): \(flow(example))}", encoded: compiled)
        }
    }

    /// A filter's settings besides its conditions.
    public static var settings: [Setting] { Filter.settings }

    /// A value in YAML's flow style.
    private static func flow(_ json: JSON) -> String {
        switch json {
        case .null, .bool, .int, .double: json.text
        case .string(let text): text
        case .array(let items): "[" + items.map(flow).joined(separator: ", ") + "]"
        case .object(let members): "{" + members.map { "\($0.key): \(flow($0.value))" }.joined(separator: ", ") + "}"
        }
    }
}
