/// A row of `sys_security_acl`, as shown to those who may read it. It has no effect in the simulation.
public struct SimulatedAccessRule: Sendable, Hashable {
    public enum Operation: String, Sendable, Hashable, CaseIterable { case create, read, write, delete }

    /// A table, or a table and a field: `incident`, `task.work_notes`, `*`.
    public var name: String
    public var operation: Operation
    public var roles: [String]
    public var condition: String
    public var script: String

    public init(_ name: String, _ operation: Operation, roles: [String] = [], condition: String = "", script: String = "") {
        self.name = name
        self.operation = operation
        self.roles = roles
        self.condition = condition
        self.script = script
    }
}

extension World {
    /// The rows of the tables with access rules.
    func accessRecords(of table: String) -> [Record] {
        func record(_ id: String, _ values: [String: String]) -> Record { Record(table, id, values) }
        let rules = accessRules ?? []
        switch table {
        case "sys_security_acl":
            return rules.enumerated().map { number, rule in
                record(
                    "acl\(number)",
                    [
                        "name": rule.name, "operation": rule.operation.rawValue, "type": "record", "active": "true",
                        "admin_overrides": "true", "condition": rule.condition, "script": rule.script,
                        "advanced": rule.script.isEmpty ? "false" : "true",
                    ])
            }
        case "sys_security_acl_role":
            return rules.enumerated().flatMap { number, rule in
                rule.roles.map { record("acl\(number).\($0)", ["sys_security_acl": "acl\(number)", "sys_user_role": $0]) }
            }
        case "sys_security_operation":
            return SimulatedAccessRule.Operation.allCases.map { record($0.rawValue, ["name": $0.rawValue]) }
        default: return [record("record", ["name": "record"])]
        }
    }
}

extension SimulatedInstance {
    /// The content of `sys_security_acl`; nil if no user may read it, as for most accounts.
    public var accessRules: [SimulatedAccessRule]? {
        get { change { state, _ in state.world.accessRules } }
        set { change { state, _ in state.world.accessRules = newValue } }
    }
}
