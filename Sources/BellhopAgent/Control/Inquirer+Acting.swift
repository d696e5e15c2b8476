import BellhopConnectors
public import BellhopCore
import BellhopRules

extension Inquirer {
    /// The arguments of a dead or held delivery as a text to edit.
    func form(of id: String) async throws(StoreError) -> JSON {
        let record = try await delivery(id)
        let form = try Self.form(of: record)
        return ["delivery": record.json, "text": .string(form.text)]
    }

    /// Stores the current person's change. Returns `{"difference": …}`, empty without a change, or the mistakes in it as `{"problems": […]}`.
    func edit(_ edit: FormEdit) async throws(StoreError) -> JSON {
        let record = try await delivery(edit.delivery)
        let form = try Self.form(of: record)
        guard form.text == edit.before else { throw Self.changedMeanwhile(record) }
        let (arguments, text): (Arguments, String)
        do throws(Diagnostics) {
            (arguments, text) = try form.read(edit.after)
        } catch {
            return ["problems": .array(error.all.map { .string($0.rendered(colour: false)) })]
        }
        guard text != edit.before else { return ["difference": ""] }
        let change = DeliveryEdit(
            id: record.delivery.id, before: record.delivery.arguments, after: arguments,
            edit: Delivery.Edit(by: Person.current?.user ?? "", at: clock.now))
        guard try await store.edit(change) else { throw Self.changedMeanwhile(record) }
        return ["difference": .string(LineDiff(from: edit.before, to: text).unified())]
    }

    private static func form(of record: DeliveryRecord) throws(StoreError) -> DeliveryForm {
        let short = String(record.delivery.id.text.prefix(12))
        guard record.state == .dead || record.state == .held else {
            throw StoreError(
                .other,
                "Delivery \(short) is \(record.state.rawValue): only a dead or held one can be edited. Nothing was changed.")
        }
        guard let action = Catalogue.actions.first(where: { $0.kind == record.delivery.action }) else {
            throw StoreError(
                .other, "Delivery \(short) is a `\(record.delivery.action)`, which this version of Bellhop does not know.")
        }
        return DeliveryForm(record.delivery, action: action)
    }

    private static func changedMeanwhile(_ record: DeliveryRecord) -> StoreError {
        StoreError(
            .other,
            "Delivery \(String(record.delivery.id.text.prefix(12))) was changed, retried or dropped by someone else; your change was not stored."
        )
    }
}

extension Inquirer {
    /// Does nothing if a person has paused it already.
    func pause(_ target: PauseTarget, reason: String) async throws(StoreError) -> JSON {
        try Self.checkLength(of: reason)
        switch target {
        case .receiver(let name):
            let stop = ReceiverStop(receiver: name, cause: .person, since: clock.now, until: nil, reason: reason)
            if let pause = agent?.pause { return ["changed": .bool(try await pause(stop))] }
            return ["changed": .bool(try await store.pause(ReceiverPause(stop)))]
        case .rule(let name):
            let known = try await store.status(at: clock.now).rules.map(\.rule)
            guard known.contains(name) else { throw Self.noRule(name, among: known) }
            return try await pause(Pause(.rule(name), since: clock.now, reason: reason))
        case .writes: return try await pause(Pause(.writes, since: clock.now, reason: reason))
        }
    }

    /// The most bytes of a person's reason: each answer about the status has the reasons of pauses.
    static let longestReason = 1000

    private static func checkLength(of reason: String) throws(StoreError) {
        guard reason.utf8.count > longestReason else { return }
        throw StoreError(
            .other, "The reason has \(reason.utf8.count) bytes, and a reason has at most \(longestReason): shorten it.")
    }

    static func noRule(_ name: String, among known: [String]) -> StoreError {
        let help = Suggestion.didYouMean(name, among: known) ?? "`bellhop status` lists the rules."
        return StoreError(.other, "There is no rule `\(name)`: \(help)")
    }

    private func pause(_ pause: Pause) async throws(StoreError) -> JSON {
        let isNew = try await store.pause(pause)
        if isNew { try await agent?.applyPauses() }
        return ["changed": .bool(isNew)]
    }

    func resume(_ target: PauseTarget) async throws(StoreError) -> JSON {
        let subject: Pause.Subject
        switch target {
        case .receiver(let name):
            if let resume = agent?.resume { return ["changed": .bool(try await resume(name))] }
            return ["changed": .bool(try await store.resume(receiver: name, at: clock.now))]
        case .rule(let name): subject = .rule(name)
        case .writes: subject = .writes
        }
        let wasPaused = try await store.resume(subject, at: clock.now)
        if wasPaused {
            try await agent?.applyPauses()
            agent?.wake()
        }
        return ["changed": .bool(wasPaused)]
    }
}

extension Pause {
    /// Why a delivery waits, in the same form as a receiver's stop.
    var json: JSON {
        var json: JSON.Object = ["cause": "writes", "since": .string(since.rfc3339), "until": .null, "reason": .string(reason)]
        json["by_person"] = .bool(isByPerson)
        if case .rule(let name) = subject { (json["cause"], json["rule"]) = ("rule", .string(name)) }
        return .object(json)
    }
}

extension Inquirer {
    func silences(ended: Bool) async throws(StoreError) -> JSON {
        let now = clock.now
        let records = try await store.silences(includingEnded: ended).filter { ended || $0.silence.ends > now }
        return ["silences": .array(json(of: records, at: now))]
    }

    /// The silences, and why a condition with a mistake makes one keep nothing back.
    func json(of records: [SilenceRecord], at now: Timestamp) -> [JSON] {
        let rules = agent.map { $0.book() } ?? book
        let open = records.filter { $0.ended == nil }.map(\.silence)
        let refused = rules?.silences(open).refused ?? [:]
        return records.map { record in
            var json = record.json(at: now)
            json["problem"] = refused[record.silence.id]?.all.first.map { JSON.string($0.message) }
            return .object(json)
        }
    }

    func add(_ silence: Silence) async throws(StoreError) -> JSON {
        let now = clock.now
        try Self.checkLength(of: silence.reason)
        guard silence.ends > now else { throw StoreError(.other, "The end of the silence is in the past.") }
        var silence = silence.identified
        let ended = try await store.silences().filter { $0.ended != nil }.map(\.silence.id)
        while ended.contains(silence.id) { silence = silence.again(at: now) }
        let isNew = try await store.add(silence, at: now)
        try await agent?.applySilences()
        return ["id": .string(silence.id), "changed": .bool(isNew)]
    }

    func endSilence(_ id: String) async throws(StoreError) -> JSON {
        let open = try await store.silences(includingEnded: false).filter { !id.isEmpty && $0.silence.id.hasPrefix(id) }
        guard let found = open.first else {
            throw StoreError(.other, "No active or future silence has the id `\(id)`: `bellhop silence list` shows them.")
        }
        guard open.count == 1 else { throw StoreError(.other, "Several silences begin with \(id): give more of the id.") }
        let ended = try await store.endSilence(found.silence.id, at: clock.now)
        try await agent?.applySilences()
        return .object((ended ?? found).json(at: clock.now))
    }
}

extension SilenceRecord {
    /// The record, with a member that says whether the silence is active.
    func json(at now: Timestamp) -> JSON.Object {
        var json = json
        json["active"] = .bool(ended == nil && silence.isActive(at: now))
        return json
    }
}

extension Inquirer {
    /// Deletes everything that rules keep about the task with this name, in one transaction. A batch that the
    /// router decided from the deleted rows at the same time is decided again.
    func forget(_ name: String) async throws(StoreError) -> JSON {
        let found = try await store.tasks(named: name)
        guard let task = found.first else {
            throw StoreError(.other, "No source has shown a task `\(name)`, and no rule waits for one.")
        }
        guard found.count == 1 else {
            let names = found.map { "\($0.subject) (\($0.title))" }.joined(separator: " or ")
            throw StoreError(.other, "Several tasks are called `\(name)`: give the address of one of them, \(names).")
        }
        let forgotten = try await store.forget(task, at: clock.now)
        return [
            "task": ["id": .string(task.key.text), "number": .string(task.number), "subject": .string(task.subject)],
            "ended": .array(
                forgotten.map {
                    ["rule": .string($0.rule), "part": .string($0.kind?.part ?? "quiet"), "count": .int(Int64($0.count))]
                }),
        ]
    }
}

extension StateKey.Kind {
    fileprivate var part: String {
        switch self {
        case .hold: "for"
        case .gathered: "group"
        case .match: "on"
        case .absence, .begun: "none"
        case .escalation, .escalated: "escalate"
        default: rawValue
        }
    }
}

extension Inquirer {
    /// How often and when last a rule stopped or waited since a moment, by the reason. Counts only the records that are kept.
    public func verdicts(
        of rule: String, since: Timestamp
    ) async throws(StoreError) -> [(verdict: DecisionRecord.Verdict, count: Int, last: Timestamp)] {
        let most = DecisionRecord.most * DecisionRecord.Verdict.allCases.count
        let verdicts = DecisionRecord.Verdict.allCases.filter { !$0.isOfEarlier }
        let records = try await store.decisions(DecisionQuery(rule: rule, verdicts: verdicts, since: since, limit: most))
        return Dictionary(grouping: records, by: \.verdict).map { verdict, records in
            (verdict, records.count, records.map(\.at).max() ?? since)
        }.sorted { $0.count > $1.count }
    }
}
