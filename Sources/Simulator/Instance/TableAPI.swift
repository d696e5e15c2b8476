import BellhopCore

/// The Table API: `/api/now/[v1/|v2/]table/{table}[/{sys_id}]`: reading, and writing and creating tasks.
extension SimulatedInstance.State {
    mutating func table(_ path: [String], _ call: InstanceCall, version: String) -> Reply {
        let (request, user) = (call.request, call.user)
        guard let table = path.first, path.count <= 2 else { return .noResource }
        guard Schema.tables[table] != nil else { return .error(400, "Invalid table \(table)", detail: nil) }
        let parameters: TableParameters
        do {
            parameters = try TableParameters(call, table: table, invalidReturnsNoRows: settings.invalidQueriesReturnNoRows)
        } catch {
            return .unknown(error)
        }
        let shape = FieldShape(world: world, user: user, parameters: parameters, uri: uri(of: request))
        switch (request.method, path.count) {
        case ("GET", 1), ("HEAD", 1): return rows(table, call, version: version, shape: shape)
        case ("GET", _), ("HEAD", _): return record(path[1], table: table, shape: shape)
        case ("PATCH", 2), ("PUT", 2): return write(path[1], table: table, call, shape: shape)
        case ("POST", 1): return create(in: table, call, shape: shape)
        default: return .wrongMethod
        }
    }

    /// The start of the instance's addresses, with a trailing slash.
    func uri(of request: ReceivedRequest) -> String {
        settings.servletURI ?? "http://\(request.header("Host") ?? "localhost")/"
    }

    func reading(_ table: String, by user: SimulatedUser) -> SimulatedUser.Reading {
        if Schema.isTask(table) { return user.tasks }
        return switch table {
        case "sys_journal_field": user.journal
        case "sys_user": user.users
        case "sys_dictionary", "sys_documentation", "sys_choice", "sys_db_object": user.dictionary
        case "sys_attachment": user.attachments
        case "sys_security_acl", "sys_security_acl_role": world.accessRules == nil ? .forbidden : .allowed
        default: .allowed
        }
    }

    private mutating func rows(_ table: String, _ call: InstanceCall, version: String, shape: FieldShape) -> Reply {
        let (quirks, parameters) = (call.quirks, shape.parameters)
        let reading = reading(table, by: call.user)
        if reading == .forbidden { return .readRefused }
        var found: [Record] = []
        if !parameters.returnsNoRows, !quirks.contains(.emptyList) {
            let rows = world.records(of: table, keys: parameters.query.keys)
            let query = parameters.query
            found = query.sort(rows.filter { query.matches($0, in: world) && shape.fits($0) }, in: world)
        }
        let shown = quirks.contains(.emptyListCounted) ? [] : found
        let page = shown.dropFirst(parameters.offset).prefix(parameters.limit)
            .filter { reading == .allowed && !call.user.hides($0) }
        var reply = Reply.json(200, ["result": .array(page.map { shape.row($0, table: table) })])
        if page.isEmpty, version == "v1" { reply = .error(404, "No Record found", detail: nil) }
        if parameters.counts, !quirks.contains(.uncounted) { reply.set("X-Total-Count", String(found.count)) }
        if parameters.showsPages, parameters.limit > 0 {
            reply.set("Link", links(call.request, shape: shape, total: found.count, quirks))
        }
        if quirks.contains(.rowMoves), Schema.isTask(table), let first = page.first {
            world.touch(first.id, by: "system", at: call.now)
        }
        return reply
    }

    /// Built mechanically, as on the real server: `prev` is on the first page too, with a negative offset.
    private func links(_ request: ReceivedRequest, shape: FieldShape, total: Int, _ quirks: Set<Fault>) -> String {
        let limit = shape.parameters.limit
        let offset = shape.parameters.offset
        let kept = request.query.split(separator: "&")
            .filter { !$0.hasPrefix("sysparm_limit=") && !$0.hasPrefix("sysparm_offset=") }.joined(separator: "&")
        let start =
            String(shape.uri.dropLast()) + request.path + "?" + kept + (kept.isEmpty ? "" : "&") + "sysparm_limit=\(limit)"
        var pages = [("first", 0), ("prev", quirks.contains(.sameLinks) ? offset + limit : offset - limit)]
        if offset + limit < total { pages.append(("next", offset + limit)) }
        pages.append(("last", max(0, (total - 1) / limit * limit)))
        return pages.map { "<\(start)&sysparm_offset=\($0.1)>;rel=\"\($0.0)\"" }.joined(separator: ",")
    }

    private func record(_ id: String, table: String, shape: FieldShape) -> Reply {
        switch reading(table, by: shape.user) {
        case .forbidden: return .readRefused
        case .hidden: return .noRecord
        case .allowed: break
        }
        guard let record = world.record(id, in: table), table == "task" || !Schema.isTask(table) || record.table == table,
            !shape.user.hiddenTasks.contains(id)
        else { return .noRecord }
        return .json(200, ["result": shape.row(record, table: table)])
    }
}

extension SimulatedUser {
    /// Whether the user's rules hide this row from a list, though the query counts it.
    fileprivate func hides(_ row: Record) -> Bool {
        hiddenTasks.contains(row.id) || (row.table == "sys_dictionary" && hiddenColumns.contains(row["element"]))
    }
}
