import BellhopCore
import BellhopStore
import BellhopTesting
import Testing

@testable import BellhopAgent

/// Questions on the control socket.
@Suite struct `Inquiries about deliveries` {
    @Test func `an inquiry is read back from its JSON unchanged, also with the name of the person who asks`() throws {
        let query = DeliveryQuery(
            states: [.dead, .held], rule: "r", receiver: "ops", since: TestClock().now, reason: .throttled, id: "ab", limit: 7)
        let edit = FormEdit(delivery: "ab", before: "a: 1\n", after: "a: \"\u{0}\"\n")
        let all = [
            Inquiry.deliveries(query), .form("ab"), .edit(edit), .apply(.drop, deliveries: ["a", "b"]), .forget(task: "INC1"),
            .keepRefusal("refused-login/snow", nil), .keepRefusal("refused-login/snow", ["salt": "s"]),
            .keychainChanged(.login("snow"), in: .none),
            .keychainChanged(.secret("x"), in: KeychainPlace(Keychain(path: "/k"), project: "p")),
        ]
        let person = Person(user: "ada", host: "desk", command: "deliveries edit")
        for inquiry in all {
            #expect(Inquiry(json: inquiry.json) == inquiry)
            // The control socket adds who asks.
            var question = try #require(inquiry.json.asObject)
            #expect(question["by"] == nil)
            question["by"] = person.json
            #expect(Inquiry(json: .object(question)) == inquiry)
        }
    }

    @Test func `a silence that is made again after a person ended it is another silence`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let inquirer = Inquirer(store: store, clock: clock)
        for start in [0, 3600] {
            let silence = Silence(
                starts: clock.now + .seconds(start), ends: clock.now + .seconds(7200), reason: "x", by: "ada")
            let first = try await inquirer.add(silence)
            #expect(try await inquirer.add(silence)["changed"] == false)
            _ = try await inquirer.endSilence(try #require(first["id"]?.asString))
            let second = try await inquirer.add(silence)
            #expect(second["changed"] == true && second["id"] != first["id"])
        }
        #expect(try await store.silences().map { $0.ended == nil } == [true, true, false, false])
    }

    @Test func `a task whose name is ambiguous or unknown is not forgotten, and the error names the tasks`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        for instance in ["https://one.example", "https://two.example"] {
            let scope = Scope(instance: instance, user: "ada", kind: "table")
            _ = try await store.open(scope, source: instance, at: clock.now)
            let task = PollCommit.PresentTask(
                text: SnapshotText(Snapshot(key: "a1", number: "INC1", title: "No mail")), listed: .of("a"), content: .of("a"),
                generation: 1, refreshed: clock.now)
            _ = try await store.commit(
                PollCommit(
                    scope: scope.id, source: instance, expectedTurn: 0, at: clock.now, cursor: nil, answer: nil,
                    present: [task], events: []))
        }
        let once = StateKey(rule: "r", kind: .once, key: "a1")
        try await store.route(Routing(state: [StateWrite(once, .set(true, expires: nil))]))
        let inquirer = Inquirer(store: store, clock: clock)
        func refusal(_ name: String) async -> String? {
            do throws(StoreError) {
                _ = try await inquirer.forget(name)
                return nil
            } catch { return error.message }
        }
        #expect(
            await refusal("INC1")
                == "Several tasks are called `INC1`: give the address of one of them, https://one.example/a1 (No mail) or https://two.example/a1 (No mail)."
        )
        #expect(await refusal("INC2") == "No source has shown a task `INC2`, and no rule waits for one.")
        #expect(try await store.state(for: [once])[once] == true)
        #expect(try await inquirer.forget("https://one.example/a1")["ended"] == [["rule": "r", "part": "once", "count": 1]])
        #expect(try await store.state(for: [once])[once] == nil)
    }

    /// Stores a dead delivery of a line to the log.
    private static func deadDelivery(in store: any Store, at now: Timestamp) async throws -> Delivery {
        let delivery = Delivery(
            id: Delivery.ID(occasion: Occasion.event(Event.ID("1")).id, rule: "r", step: StepPath(index: 0), receiver: "log"),
            revision: "1", action: "log", arguments: .values(["text": "one", "level": "info"]), task: nil, lane: "log",
            createdAt: now, initial: .dead(Failure(.fileSystem, .giveUp, "The disk is full.")))
        try await store.route(Routing(deliveries: [delivery]))
        return delivery
    }

    @Test func `an edit of an outdated text is refused, and changes nothing`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let delivery = try await Self.deadDelivery(in: store, at: clock.now)
        let inquirer = Inquirer(store: store, clock: clock)
        let form = try await inquirer.form(of: delivery.id.text)
        let text = try #require(form["text"]?.asString)
        #expect(text == "text: one\nlevel: info\n")
        let edit = FormEdit(delivery: delivery.id.text, before: text, after: "text: two\n")
        let answer = try await Person.$current.withValue(Person(user: "ada", host: "desk", command: "test")) {
            try await inquirer.edit(edit)
        }
        #expect(answer["difference"]?.asString?.contains("+text: two") == true)
        await #expect(throws: StoreError.self) { try await inquirer.edit(edit) }
        let stored = try await store.deliveries(DeliveryQuery())[0].delivery
        #expect(stored.arguments == .values(["text": "two", "level": "info", "format": "text"]))
        #expect(stored.edits == [Delivery.Edit(by: "ada", at: clock.now)])
    }

    @Test func `a wrong edit answers with diagnostics, and changes nothing`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let delivery = try await Self.deadDelivery(in: store, at: clock.now)
        let edit = FormEdit(delivery: delivery.id.text, before: "text: one\nlevel: info\n", after: "level: loud\n")
        let problems = try await Inquirer(store: store, clock: clock).edit(edit)["problems"]?.asArray ?? []
        #expect(
            problems.compactMap(\.asString).map { $0.contains("[wrong-value]") || $0.contains("[missing-key]") } == [true, true])
        #expect(try await store.deliveries(DeliveryQuery())[0].delivery == delivery)
    }
}
