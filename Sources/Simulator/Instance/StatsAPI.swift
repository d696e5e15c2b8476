import BellhopCore

/// The Aggregate API, limited to counts, minimum and maximum: `/api/now/[v1/]stats/{table}`. It ignores access rules.
extension SimulatedInstance.State {
    func stats(_ path: [String], _ request: ReceivedRequest, user: SimulatedUser, quirks: Set<Fault>, at now: Int64) -> Reply {
        guard let table = path.first, path.count == 1, request.method == "GET" else { return .noResource }
        guard Schema.tables[table] != nil else { return .error(400, "Invalid table \(table)", detail: nil) }
        if reading(table, by: user) == .forbidden { return .readRefused }
        do {
            return .json(200, ["result": ["stats": .object(try figures(table, request, user: user, quirks: quirks, at: now))]])
        } catch {
            return .error(
                400, "Simulator: \(error.message)", detail: "The real server would ignore it; see the fault sloppy_queries")
        }
    }

    private func figures(
        _ table: String, _ request: ReceivedRequest, user: SimulatedUser, quirks: Set<Fault>, at now: Int64
    ) throws(QueryProblem) -> JSON.Object {
        let isSloppy = quirks.contains(.sloppyQueries)
        var query = EncodedQuery()
        var wantsCount = false
        var extremes: [(String, [FieldPath])] = []
        for (name, value) in request.parameters {
            switch name {
            case "sysparm_query": query = try EncodedQuery(value, table: table, user: user, sloppy: isSloppy, at: now)
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
                values[path.text] = .string((name == "min" ? all.min() : all.max()) ?? "")
            }
            members[name] = .object(values)
        }
        return members
    }
}
