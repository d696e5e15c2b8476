import BellhopCore
import Testing

@Suite struct `The catalogue of events` {
    private static let task = Snapshot(
        key: "a1", number: "INC0010021", title: "Printer", className: "incident", fields: ["state": 1], labels: ["state": "New"])
    private static let now = Timestamp(seconds: 1_767_603_600)
    private static let failure = Failure(.unreachable, .retry(after: nil), "No connection.")

    /// The contents that the constructors make, with and without optional members.
    private static let contents: [EventContent] = {
        let held = HeldResult(known: 40, listing: Listing(), comparison: Comparison(), at: now)
        let occasion = Occasion.event(Event.ID("e")).id
        func delivery(_ task: TaskReference?) -> Delivery {
            Delivery(
                id: Delivery.ID(occasion: occasion, rule: "r", step: StepPath(index: 0), receiver: "ops"), revision: "",
                action: "notify", arguments: .values([:]), task: task, lane: "", createdAt: now)
        }
        let reference = TaskReference(
            source: "tasks", key: "a1", number: "INC0010021", title: "Printer", className: "incident", url: "", subject: "x/a1")
        let silence = Silence(
            id: "s1", when: "true", rules: ["r"], receivers: ["ops"], starts: now, ends: now + .seconds(60), reason: "work",
            by: "ada")
        let changes = [Change.FieldChange(field: "state", from: 1, to: 2)]
        return [
            .login(connection: "snow", user: "ada", usesKeychain: false, failure: nil),
            .login(connection: "snow", user: "ada", usesKeychain: false, failure: failure),
            .login(connection: "snow", user: "ada", usesKeychain: true, failure: failure),
            .sessionExpired(connection: "snow", user: "ada", reason: "It is over.", code: .sessionExpired),
            .taskCreated(task, in: "tasks"), .taskReturned(task, removed: now, in: "tasks"),
            .taskChanged(task, before: task, changes, in: "tasks"),
            .taskCommented(task, "Hello", author: "", kind: "comments", time: now, own: false, proved: true, in: "tasks"),
            .pageChanged(Snapshot(key: "p", fields: ["text": "b"]), before: "a", in: "page"), .scheduleDue(now, missed: 2),
            .sourceFailing("tasks", failure, since: now), .sourceRecovered("tasks", error: "", since: now),
            .sourceHeld("tasks", held), .deliveryDead(delivery(nil), failure), .deliveryDead(delivery(reference), failure),
            .receiverPaused(ReceiverStop(receiver: "ops", cause: .refusal, since: now, until: nil, reason: "404")),
            .receiverResumed("ops"), .silenceStarted(silence), .silenceEnded(SilenceRecord(silence, kept: 3, ended: now)),
        ] + RemovalReason.allCases.map { .taskRemoved(task, $0, in: "tasks") }
    }()

    @Test func `each type has a constructor, and only declared types are made`() {
        #expect(Set(Self.contents.map(\.type)) == Set(EventCatalogue.builtIn.types))
    }

    @Test(arguments: contents) func `an event has the members that its type declares, and no others`(_ content: EventContent)
        throws
    {
        let definition = try #require(EventCatalogue.builtIn[content.type])
        #expect(Self.difference(.object(content.data), .record(definition.members), at: content.type.name) == nil)
    }

    @Test func `an optional member is present at least once, so that it is compared too`() {
        for definition in EventCatalogue.builtIn.definitions {
            for member in definition.members where !member.required {
                let made = Self.contents.filter { $0.type == definition.type }
                #expect(made.contains { $0.data[member.name] != nil } && made.contains { $0.data[member.name] == nil })
            }
        }
    }

    @Test func `event types from outside can be added to the catalogue`() {
        let deployed = EventDefinition(
            EventType("deployed"), "a version went live", from: .outside, [Setting("version", .text, required: true, "")])
        let catalogue = EventCatalogue(EventCatalogue.builtIn.definitions + [deployed])
        #expect(catalogue[deployed.type] == deployed)
        #expect(catalogue.nameable.last == deployed)
        #expect(catalogue[.taskChanged] == EventCatalogue.builtIn[.taskChanged])
    }

    /// Where a value is not of the type; nil if it fits.
    private static func difference(_ value: JSON, _ type: SettingType, at place: String) -> String? {
        switch (type, value) {
        case (.json, _), (.text, .string), (.integer, .int), (.boolean, .bool): return nil
        case (.oneOf(let names), .string(let text)): return names.contains(text) ? nil : "\(place) is \(text)"
        case (.list(let element), .array(let values)):
            return values.lazy.compactMap { difference($0, element, at: place + "[]") }.first
        case (.map(let element), .object(let members)):
            return members.lazy.compactMap { difference($0.value, element, at: "\(place).\($0.key)") }.first
        case (.record(let declared), .object(let members)):
            let names = declared.map(\.name)
            if let other = members.keys.first(where: { !names.contains($0) }) { return "\(place) has \(other)" }
            for member in declared {
                let path = "\(place).\(member.name)"
                guard let value = members[member.name] else {
                    if member.required { return "\(path) is missing" }
                    continue
                }
                if let found = difference(value, member.type, at: path) { return found }
            }
            return nil
        default: return "\(place) is \(value.text)"
        }
    }
}
