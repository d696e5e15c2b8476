import BellhopCore
import Simulator
import Testing

/// Compares the agent's events and deliveries, after many kills, with what happened on the instance.
struct Ledger {
    /// The rules whose effects are checked. A kill costs an attempt, so they have more attempts than usual.
    static let rules = """
        rules:
          - rule: acknowledge
            on: task_created
            when: task.class == "incident"
            once: task.id
            do:
              - comment: "Seen: ${{ task.number }}"
                retry: {attempts: 200, max_wait: 5m}
              - create: {to: snow, table: problem, fields: {short_description: Why?, close_notes: "${{ task.number }}"}}
                retry: {attempts: 200, max_wait: 5m}
              - attach: {name: seen.txt, text: "${{ task.number }}"}
                retry: {attempts: 200, max_wait: 5m}
              - update: {category: seen}
                retry: {attempts: 200, max_wait: 5m}
          - rule: follow
            on: task_changed
            when: task.class == "incident"
            limit: 1000/h
            do: [{comment: "Its priority is ${{ task.priority }}.", retry: {attempts: 200, max_wait: 5m}}]
          - rule: tell
            on: [task_created, task_changed, task_removed, task_returned]
            do:
              - webhook: {to: hook, json: {event: "${{ event.id }}", task: "${{ task.id }}", title: "${{ task.title }}"}}
                retry: {attempts: 200, max_wait: 5m}
              - notify: {to: ops, title: "${{ event.type }}", text: "${{ task.title }} ${{ event.id }}"}
                retry: {attempts: 200, max_wait: 5m}

        """

    /// Fields whose changes cause no event.
    private static let bookkeeping: Set<String> = ["sys_updated_on", "sys_updated_by", "sys_mod_count"]

    let stage: Stage
    /// The events about tasks, in the order of the bus.
    let events: [JSON]

    init(_ stage: Stage) async throws {
        self.stage = stage
        events = try await stage.events().filter { $0["type"]?.asString?.hasPrefix("task_") ?? false }
    }

    /// Records an issue for everything that was lost or doubled.
    func check(sourceLocation: SourceLocation = #_sourceLocation) {
        let ids = events.compactMap { $0["id"]?.asString }
        #expect(Set(ids).count == ids.count, "two events have the same id", sourceLocation: sourceLocation)
        for task in stage.instance.tasks {
            let own = events.filter { $0.at("data", "task", "id")?.asString == task.id }
            checkChain(of: task, own, sourceLocation)
            checkNotes(on: task, own, sourceLocation)
        }
        checkWebhooks(sourceLocation)
        checkChat(sourceLocation)
    }

    /// Each event must start from the state in which the one before ended, and the last must end in the current state. A lost
    /// event would leave a gap, and a doubled one would start from a past state.
    private func checkChain(of task: SimulatedTask, _ events: [JSON], _ place: SourceLocation) {
        var known: JSON.Object?
        var isThere = false
        for event in events {
            let type = event["type"]?.asString ?? ""
            let fields = event.at("data", "task", "fields")?.asObject ?? [:]
            let description = "\(task.number): \(event)"
            switch type {
            case "task_created": #expect(known == nil, "created twice: \(description)", sourceLocation: place)
            case "task_returned":
                #expect(known != nil && !isThere, "returned, but was never away: \(description)", sourceLocation: place)
            case "task_removed": #expect(isThere, "removed twice: \(description)", sourceLocation: place)
            case "task_changed":
                #expect(isThere, "changed while it was away: \(description)", sourceLocation: place)
                checkStep(from: known ?? [:], to: fields, event.at("data", "changes")?.asObject ?? [:], description, place)
            default: Issue.record("an unexpected event: \(description)", sourceLocation: place)
            }
            isThere = type != "task_removed"
            if isThere { known = fields }
        }
        let mine = task.isActive && task.assignedTo == stage.instance.user(Stage.user)?.id
        #expect(isThere == mine, "the agent and the instance disagree on whether \(task.number) is there", sourceLocation: place)
        if mine {
            #expect(
                known?["short_description"] == .string(task.title), "a change of \(task.number) was lost", sourceLocation: place)
            #expect(
                known?["priority"]?.asInt == task.priority.map(Int64.init), "a change of \(task.number) was lost",
                sourceLocation: place)
        }
    }

    private func checkStep(
        from old: JSON.Object, to new: JSON.Object, _ changes: JSON.Object, _ description: String, _ place: SourceLocation
    ) {
        // The column `short_description` is the `title` of a task.
        var changed: Set<String> = []
        for (name, change) in changes {
            let field = name == "title" ? "short_description" : name
            changed.insert(field)
            #expect(
                change["from"] == old[field] && change["to"] == new[field], "\(name) does not follow: \(description)",
                sourceLocation: place)
        }
        for (field, value) in new where !changed.contains(field) && !Self.bookkeeping.contains(field) {
            #expect(value == old[field], "a change of \(field) has no event: \(description)", sourceLocation: place)
        }
    }

    /// There must be exactly one note for each event that asks for one, in the order of the events.
    private func checkNotes(on task: SimulatedTask, _ events: [JSON], _ place: SourceLocation) {
        let notes = stage.notes(on: task.id).map(\.text)
        guard task.table == "incident" else {
            #expect(notes == [], "\(task.number) is not an incident", sourceLocation: place)
            return
        }
        let seen = events.count { $0["type"] == "task_created" }
        #expect(
            notes.count { $0 == "Seen: \(task.number)" } == seen, "acknowledgements of \(task.number): \(notes)",
            sourceLocation: place)
        let expected = events.filter { $0["type"] == "task_changed" }.map {
            "Its priority is \($0.at("data", "task", "fields", "priority")?.asInt ?? 0)."
        }
        #expect(notes.filter { $0.hasPrefix("Its") } == expected, "notes on \(task.number)", sourceLocation: place)
        let files = stage.instance.attachments(of: task.id).map { String(decoding: $0.bytes, as: UTF8.self) }
        #expect(files == Array(repeating: task.number, count: seen), "files at \(task.number)", sourceLocation: place)
        let made = stage.instance.tasks.count {
            $0.table == "problem" && $0["correlation_id"].hasPrefix("bellhop-") && $0["close_notes"] == task.number
        }
        #expect(made == seen, "problems made for \(task.number)", sourceLocation: place)
        #expect(task["category"] == (seen > 0 ? "seen" : ""), "the category of \(task.number)", sourceLocation: place)
        #expect(notes.count == seen + expected.count, "notes on \(task.number): \(notes)", sourceLocation: place)
    }

    /// There must be at least one webhook for each event, all with the same id and body, and in the order of a task's events.
    private func checkWebhooks(_ place: SourceLocation) {
        let taken = stage.simulation.receivers.received(by: "hook").filter(\.isAccepted)
        let calls = Dictionary(grouping: taken) { (try? JSON.parse($0.text))?["event"]?.asString ?? "?" }
        var names: Set<String> = []
        for event in events {
            let id = event["id"]?.asString ?? ""
            let own = calls[id] ?? []
            #expect(!own.isEmpty, "no webhook for \(event)", sourceLocation: place)
            let headers = Set(own.compactMap { $0.request.header("webhook-id") })
            #expect(headers.count <= 1, "attempts have different webhook-ids", sourceLocation: place)
            #expect(Set(own.map(\.text)).count <= 1, "attempts have different bodies", sourceLocation: place)
            names.formUnion(headers)
        }
        #expect(names.count == events.count, "webhooks of different events share an id", sourceLocation: place)
        #expect(calls.count == events.count, "some webhooks have no event", sourceLocation: place)
        var firsts: [String: [String]] = [:]
        var met: Set<String> = []
        for call in taken {
            guard let json = try? JSON.parse(call.text), let id = json["event"]?.asString, met.insert(id).inserted else {
                continue
            }
            firsts[json["task"]?.asString ?? "", default: []].append(id)
        }
        for (task, order) in firsts {
            let expected = events.filter { $0.at("data", "task", "id")?.asString == task }.compactMap { $0["id"]?.asString }
            #expect(order == expected, "webhooks of one task out of order", sourceLocation: place)
        }
    }

    /// There must be at least one message in the chat for each event.
    private func checkChat(_ place: SourceLocation) {
        let texts = stage.simulation.receivers.received(by: "ops").filter(\.isAccepted).map(\.text)
        for event in events {
            let id = event["id"]?.asString ?? "?"
            #expect(texts.contains { $0.contains(id) }, "no message in the chat for \(event)", sourceLocation: place)
        }
    }
}
