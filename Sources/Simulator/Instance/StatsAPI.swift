import BellhopCore

/// The Aggregate API, limited to counts, minimum and maximum: `/api/now/[v1/]stats/{table}`. It ignores access rules.
extension SimulatedInstance.State {
    func stats(_ path: [String], _ call: InstanceCall) -> Reply {
        guard let table = path.first, path.count == 1, call.request.method == "GET" else { return .noResource }
        guard Schema.tables[table] != nil else { return .error(400, "Invalid table \(table)", detail: nil) }
        if reading(table, by: call.user) == .forbidden { return .readRefused }
        do {
            return .json(200, ["result": ["stats": .object(try figures(table, call))]])
        } catch {
            return .unknown(error)
        }
    }

    private func figures(_ table: String, _ call: InstanceCall) throws(QueryProblem) -> JSON.Object {
        let isSloppy = call.quirks.contains(.sloppyQueries)
        var query = EncodedQuery()
        var wantsCount = false
        var extremes: [(String, [FieldPath])] = []
        for (name, value) in call.request.parameters {
            switch name {
            case "sysparm_query": query = try EncodedQuery(value, table: table, user: call.user, sloppy: isSloppy, at: call.now)
            case "sysparm_count": wantsCount = value == "true"
            case "sysparm_min_fields", "sysparm_max_fields":
                var paths: [FieldPath] = []
                for name in value.split(separator: ",") { paths.append(try EncodedQuery.path(String(name), in: table)) }
                extremes.append((name == "sysparm_min_fields" ? "min" : "max", paths))
            default: if !isSloppy { throw QueryProblem(message: "unknown query parameter '\(name)'") }
            }
        }
        let rows = world.records(of: table, keys: query.keys).filter { query.matches($0, in: world) }
        var members: JSON.Object = [:]
        if wantsCount { members["count"] = .string(String(rows.count)) }
        for (name, paths) in extremes {
            var values: JSON.Object = [:]
            for path in paths {
                let all = rows.map { path.raw(of: $0, in: world) }.filter { !$0.isEmpty }
                func isLess(_ left: String, _ right: String) -> Bool { EncodedQuery.Term.isLess(left, right, path.field) }
                values[path.text] = .string((name == "min" ? all.min(by: isLess) : all.max(by: isLess)) ?? "")
            }
            members[name] = .object(values)
        }
        return members
    }
}
