import BellhopCore

/// The instance's access rules (`sys_security_acl`) for creating and updating records, if this account may read them.
///
/// Most accounts may not read them. A rule requires one of its roles; it may also have a condition or a script, which only the
/// instance can evaluate. A write must pass a rule of its table and a rule of its field. In each case the rules with the most
/// specific name decide, and it is enough to pass one of them.
struct AccessRules: Sendable, Hashable {
    enum Operation: String, Sendable, Hashable, CaseIterable { case create, write }

    struct Rule: Sendable, Hashable {
        /// `incident`, `incident.state`, `*.state`, `incident.*`, …
        var name: String
        var operation: Operation
        var roles: Set<String> = []
        /// Whether it also has a condition or a script.
        var hasConditions = false
        /// Whether the role admin always passes it.
        var adminOverrides = true
    }

    enum Permission: Sendable, Hashable {
        /// The name of the rule that allows it.
        case allowed(String)
        /// The rule, and its roles: any one of them is enough.
        case refused(String, roles: [String])
        /// A rule whose condition or script decides.
        case depends(String)
        /// No rule with these names is visible.
        case unknown

        fileprivate var rank: Int {
            switch self {
            case .allowed: 0
            case .unknown: 1
            case .depends: 2
            case .refused: 3
            }
        }
    }

    var rules: [Rule]

    /// The names of all rules that could apply.
    static func names(tables: [String], fields: [String]) -> [String] {
        let own = tables + ["*"]
        return own + own.flatMap { table in (fields + ["*"]).map { "\(table).\($0)" } }
    }

    /// Whether a user with these roles may write.
    /// - Parameter tables: the record's table and those it extends, itself first.
    func permission(_ operation: Operation, tables: [String], field: String? = nil, roles: Set<String>) -> Permission {
        let tables = tables + ["*"]
        let ofTable = decide(operation, tables, roles)
        guard let field else { return ofTable }
        let ofField = decide(operation, tables.map { "\($0).\(field)" } + tables.map { "\($0).*" }, roles)
        // Without a rule for the field, the table's rule applies.
        if ofField == .unknown { return ofTable }
        return ofTable.rank > ofField.rank ? ofTable : ofField
    }

    /// - Parameter names: the most specific first.
    private func decide(_ operation: Operation, _ names: [String], _ roles: Set<String>) -> Permission {
        for name in names {
            let here = rules.filter { $0.operation == operation && $0.name == name }
            if here.isEmpty { continue }
            let verdicts = here.map { Self.judge($0, roles) }
            if let allowed = verdicts.first(where: { $0.rank == 0 }) { return allowed }
            if let open = verdicts.first(where: { $0.rank == 2 }) { return open }
            return .refused(name, roles: Set(here.flatMap(\.roles)).sorted())
        }
        return .unknown
    }

    private static func judge(_ rule: Rule, _ roles: Set<String>) -> Permission {
        if rule.adminOverrides, roles.contains("admin") { return .allowed(rule.name) }
        guard rule.roles.isEmpty || !rule.roles.isDisjoint(with: roles) else {
            return .refused(rule.name, roles: rule.roles.sorted())
        }
        return rule.hasConditions ? .depends(rule.name) : .allowed(rule.name)
    }
}

extension AccessRules {
    /// Reads the rules with these names; nil if the account can see none.
    static func read(_ names: [String], _ session: ServiceNowSession) async -> AccessRules? {
        let fields = ["sys_id", "name", "operation.name", "admin_overrides", "condition", "script", "advanced"]
        let query = "active=true^type.name=record^operation.nameINcreate,write^nameIN" + names.joined(separator: ",")
        guard let found = await rows("sys_security_acl", query, fields, session), !found.isEmpty else { return nil }
        var rules: [(id: String, rule: Rule)] = []
        for row in found {
            // The server ignores query parts it does not know, so each row is checked.
            guard let id = row.raw("sys_id"), let name = row.raw("name"), names.contains(name),
                let operation = row.raw("operation.name").flatMap(Operation.init)
            else { continue }
            let isScripted = row.raw("advanced") == "true" && row.raw("script") != ""
            let hasConditions = isScripted || (row.raw("condition") ?? "") != ""
            let adminOverrides = row.raw("admin_overrides") != "false"
            let rule = Rule(name: name, operation: operation, hasConditions: hasConditions, adminOverrides: adminOverrides)
            rules.append((id, rule))
        }
        guard !rules.isEmpty,
            let roles = await rows(
                "sys_security_acl_role", "sys_security_aclIN" + rules.map(\.id).joined(separator: ","),
                ["sys_security_acl", "sys_user_role.name"], session)
        else { return nil }
        for row in roles {
            guard let id = row.raw("sys_security_acl"), let role = row.raw("sys_user_role.name"), !role.isEmpty else { continue }
            for place in rules.indices where rules[place].id == id { rules[place].rule.roles.insert(role) }
        }
        return AccessRules(rules: rules.map(\.rule))
    }

    /// The rows of a query; nil if the account may not read all of them.
    private static func rows(
        _ table: String, _ query: String, _ fields: [String], _ session: ServiceNowSession
    ) async -> [JSON]? {
        guard let reply = try? await session.send(.rows(table, query, fields, limit: 1000)) else { return nil }
        return reply.total ?? reply.rows.count == reply.rows.count ? reply.rows : nil
    }
}
