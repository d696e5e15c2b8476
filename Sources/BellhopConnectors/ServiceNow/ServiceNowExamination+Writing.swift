import BellhopCore

/// Examines writes by the access rules. If this account may not read these, only a write itself shows whether it is allowed.
extension ServiceNowExamination {
    /// A write that a rule needs.
    private struct Write: Hashable {
        /// The subject of its finding: `write work_notes`.
        var subject: String
        var operation: AccessRules.Operation
        /// Nil if the task may be in any table.
        var table: String?
        var field: String?
    }

    mutating func examineActions(_ user: ServiceNowUser) async {
        var writes: [Write] = []
        for need in needs.actions {
            switch need.action {
            case CommentAction.manifest.kind:
                let field = need.constants["visibility"] == "customer" ? "comments" : "work_notes"
                writes.append(Write(subject: "write \(field)", operation: .write, field: field))
            case UpdateAction.manifest.kind:
                let fields = need.fields.isEmpty ? [nil] : need.fields.map(Optional.some)
                writes += fields.map { Write(subject: "update", operation: .write, field: $0) }
                await examineFields(need)
            case CreateAction.manifest.kind:
                let table = need.constants["table"]?.asString ?? "record"
                writes.append(Write(subject: "create \(table)", operation: .create, table: table))
                await examineTable(table, need)
            case AttachAction.manifest.kind:
                writes.append(Write(subject: "attach", operation: .write))
                await examineAttachments()
            default: continue
            }
        }
        await examine(writes, user)
    }

    private mutating func examine(_ writes: [Write], _ user: ServiceNowUser) async {
        if writes.isEmpty { return }
        let roles = await roles(of: user)
        var chains: [String: [String]] = [:]
        for write in writes where chains[table(of: write)] == nil { chains[table(of: write)] = await chain(of: table(of: write)) }
        let names = AccessRules.names(
            tables: Set(chains.values.joined()).sorted(), fields: Set(writes.compactMap(\.field)).sorted())
        let rules = roles == nil ? nil : await AccessRules.read(names, connection.reading)
        var lines: [(subject: String, finding: Finding)] = []
        for write in writes {
            let verdict = rules?.permission(
                write.operation, tables: chains[table(of: write)] ?? [], field: write.field, roles: roles ?? [])
            let finding = Self.finding(write, verdict ?? .unknown, roles, on: table(of: write))
            guard let place = lines.firstIndex(where: { $0.subject == write.subject }) else {
                lines.append((write.subject, finding))
                continue
            }
            // The finding of the worst field stands for all.
            if Self.rank(finding) > Self.rank(lines[place].finding) { lines[place].finding = finding }
        }
        findings += lines.map(\.finding)
    }

    private static func rank(_ finding: Finding) -> Int { Finding.State.allCases.firstIndex(of: finding.state) ?? 0 }

    private func table(of write: Write) -> String { write.table ?? sample?.table ?? "task" }

    private static func finding(
        _ write: Write, _ verdict: AccessRules.Permission, _ roles: Set<String>?, on table: String
    ) -> Finding {
        let what = write.field.map { "`\($0)` of \(table)" } ?? table
        switch verdict {
        case .allowed(let rule):
            return Finding(write.subject, .ok, "the access rule \(rule) allows it; a rule of the instance may still refuse it")
        case .refused(let rule, let wanted):
            let names = wanted.joined(separator: " or ")
            return Finding(
                write.subject, .missing, "the access rule \(rule) requires the role \(names)",
                remedy: "ask for the role \(names)", reason: .forbidden)
        case .depends(let rule):
            return Finding(
                write.subject, .unknown,
                "the access rule \(rule) depends on a condition or a script, so this cannot be checked in advance",
                remedy: "see the rule in sys_security_acl")
        case .unknown:
            let known =
                if let roles {
                    ["admin", "itil"].first(where: roles.contains).map {
                        "the account has the role \($0), which is usually enough"
                    } ?? "the account has neither the role itil nor the role admin"
                } else {
                    "the account may not read its own roles"
                }
            return Finding(
                write.subject, .unknown, "this cannot be checked in advance, because the access rules are hidden; \(known)",
                remedy:
                    "ask who administers the instance whether this account may \(write.operation.rawValue) \(what) (sys_security_acl)"
            )
        }
    }

    /// The names of the account's roles; nil if it may not read them.
    private mutating func roles(of user: ServiceNowUser) async -> Set<String>? {
        guard ServiceNowConnection.isSysID(user.sysID),
            let found = try? await rows("sys_user_has_role", "user=\(user.sysID)", ["role.name"], limit: 500)
        else { return nil }
        return Set(found.rows.compactMap { $0.raw("role.name") })
    }

    /// A table and its ancestors, itself first.
    private mutating func chain(of table: String) async -> [String] {
        guard table != "task", FieldWrite.isName(table) else { return DictionaryReading.chain(of: table, nil) }
        let found = try? await rows("sys_db_object", "name=\(table)", DictionaryReading.ancestors).rows
        // A row whose name is hidden is useless.
        let row = found?.first { $0.raw("name") == table }
        return DictionaryReading.chain(of: table, row)
    }

    private mutating func examineFields(_ need: ConnectionNeeds.ActionNeed) async {
        guard let sample, !need.fields.isEmpty else { return }
        let task = TaskReference(
            source: "", key: TaskKey(sample.id), number: "", title: "", className: sample.table, url: "", subject: "")
        do throws(Failure) {
            let record = try await TaskRecord.read(task, fields: need.fields, connection.reading)
            report(absent: need.fields.filter { record[$0] == nil }, in: record.table, need)
        } catch {
            findings.append(Finding("fields", error))
        }
    }

    private mutating func report(absent fields: [String], in table: String, _ need: ConnectionNeeds.ActionNeed) {
        guard !fields.isEmpty else { return }
        findings.append(
            Finding(
                "fields", .missing, "rule \(need.rule): the table \(table) shows no \(fields.quotedList)",
                remedy: "check the spelling, or let the account read it", reason: .badArguments))
    }

    private mutating func examineTable(_ table: String, _ need: ConnectionNeeds.ActionNeed) async {
        guard FieldWrite.isName(table) else { return }
        let key = need.constants["correlation_field"]?.asString ?? "correlation_id"
        do throws(Failure) {
            let fields = need.fields.filter { !["comments", "work_notes"].contains($0) } + [key]
            guard let row = try await rows(table, "", fields).rows.first else { return }
            report(absent: fields.filter { row[$0] == nil }, in: table, need)
        } catch {
            var finding = Finding("read \(table)", error)
            finding.text = "rule \(need.rule) checks there before it creates a record: \(finding.text)"
            if error.reason == .forbidden { finding.remedy = "a role that may read \(table), such as itil" }
            findings.append(finding)
        }
    }

    private mutating func examineAttachments() async {
        do throws(Failure) {
            _ = try await ask(
                ServiceNowCall(
                    target: ServiceNowCall.target("/api/now/attachment", [("sysparm_limit", "1")]), expecting: .rows))
        } catch {
            findings.append(Finding("read files", error, remedy: "let the account read sys_attachment"))
        }
    }
}
