import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopRules
import BellhopStore
import BellhopTesting
import Testing

@testable import BellhopAgent

@Suite struct `The status of a running agent` {
    private static let scope = Scope(instance: "https://acme.example", user: "ada", kind: "table", query: "")

    private func source(_ activity: SourceActivity?, in store: any Store, clock: TestClock) async throws -> JSON {
        let agent = Inquirer.Agent(
            facts: { [:] }, sources: { [("incidents", Self.scope)] }, underway: { activity.map { ["incidents": $0] } ?? [:] },
            wake: {}, applyKeychainChange: { _, _ in [] })
        let status = try await Inquirer(store: store, clock: clock, agent: agent).status()
        let sources = status["sources"]?.asArray ?? []
        #expect(sources.count == 1)
        return try #require(sources.first)
    }

    @Test func `a source that is preparing is shown with its start time, and is new afterwards`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let began = clock.now
        await clock.advance(by: .seconds(1))
        let preparing = try await source(SourceActivity(kind: .preparing, since: began), in: store, clock: clock)
        #expect(preparing["source"] == "incidents" && preparing["state"] == "preparing")
        #expect(preparing["since"] == .string(began.rfc3339) && preparing["instance"] == "https://acme.example")
        let prepared = try await source(nil, in: store, clock: clock)
        #expect(prepared["state"] == "new" && prepared["since"] == .null)
    }

    @Test func `a source is shown with its current notices`() async throws {
        let agent = Inquirer.Agent(
            facts: { ["notices": ["incidents": ["Its comments produce no events."]]] },
            sources: { [("incidents", Self.scope), ("orders", Scope(instance: "", user: "", kind: "rest", query: ""))] },
            wake: {}, applyKeychainChange: { _, _ in [] })
        let status = try await Inquirer(store: Stores.inMemory(), clock: TestClock(), agent: agent).status()
        #expect(status["sources"].elements.map { $0["notices"].texts } == [["Its comments produce no events."], []])
        #expect(status["agent"]?["notices"] == nil)
    }

    @Test func `a silence whose condition no longer fits the sources is shown as one that keeps nothing back`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let rules = RuleFile(path: "rules/a.yaml", bytes: Array("rule: a\non: task_created\ndo: [{log: x}]\n".utf8))
        let source = RuleContext.SourceFacts(
            name: "work", kind: "table", connection: "snow", schema: TaskSchema([.init("priority", .int)]),
            scope: Self.scope.id, user: "ada")
        let context = RuleContext(
            sources: [source], connections: [], actions: Catalogue.actions, timeZone: .utc, timeZoneName: "UTC",
            zone: { _ in nil })
        let book = try RuleBook.load([rules], context: context)
        for (id, when) in [("good", "task.priority == 1"), ("old", "task.urgency == 1")] {
            let silence = Silence(id: id, when: when, starts: clock.now, ends: clock.now + .seconds(60), by: "ann")
            _ = try await store.add(silence, at: clock.now)
        }
        let agent = Inquirer.Agent(
            facts: { [:] }, sources: { [] }, wake: {}, book: { book }, applyKeychainChange: { _, _ in [] })
        let status = try await Inquirer(store: store, clock: clock, agent: agent).status()
        let problems = status["silences"].elements.reduce(into: [String: String]()) {
            $0[$1["id"].textOrEmpty] = $1["problem"]?.asString
        }
        #expect(problems.keys.sorted() == ["old"])
        let needs = status["needs"].texts
        #expect(
            needs.count == 1 && needs.first?.hasPrefix("The condition of the silence old has a mistake, so") == true, "\(needs)")
        #expect(needs.first?.contains("`urgency`") == true)
    }

    @Test func `a silence that begins later is shown after the active ones, and is not active`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        for (id, delay, span) in [("over", -60, 60), ("later", 60, 120), ("now", 0, 60)] {
            let (starts, ends) = (clock.now + .seconds(delay), clock.now + .seconds(delay + span))
            _ = try await store.add(Silence(id: id, when: nil, starts: starts, ends: ends, by: "ann"), at: starts)
        }
        let silences = try await Inquirer(store: store, clock: clock).status()["silences"].elements
        #expect(silences.map { $0["id"].textOrEmpty } == ["now", "later"])
        #expect(silences.map { $0["active"] } == [true, false])
        #expect(silences.last?["starts"] == .string((clock.now + .seconds(60)).rfc3339))
    }

    @Test func `an agent that has the store and does not answer is named, with what to do`() async throws {
        let status = try await Inquirer(store: Stores.inMemory(), clock: TestClock(), silentAgent: 7).status()
        #expect(
            status["needs"].texts == [
                "An agent (process 7) has the store, but does not answer on its socket: restart it, unless it is starting, is stopping "
                    + "or is a `bellhop run --once`."
            ])
    }

    @Test func `a long poll is shown with its start time, and a failing source as failing`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        _ = try await store.open(Self.scope, source: "incidents", at: clock.now)
        let commit = PollCommit(
            scope: Self.scope.id, source: "incidents", expectedTurn: 0, at: clock.now, cursor: nil, answer: nil, present: [],
            removed: [], events: [], health: SourceHealth(lastSuccess: clock.now))
        _ = try await store.commit(commit)
        let activity = SourceActivity(kind: .polling, since: clock.now)
        await clock.advance(by: .seconds(4))
        #expect(try await source(activity, in: store, clock: clock)["state"] == "fine")
        await clock.advance(by: .seconds(2))
        let polling = try await source(activity, in: store, clock: clock)
        #expect(polling["state"] == "polling" && polling["since"] == .string(activity.since.rfc3339))
        let health = SourceHealth(failures: 1, failingSince: clock.now, lastError: "It does not answer.")
        try await store.setHealth(health, of: Self.scope.id, events: [], rest: nil)
        let failing = try await source(activity, in: store, clock: clock)
        #expect(failing["state"] == "failing" && failing["since"] == .string(clock.now.rfc3339))
    }

    @Test func `a full disk is reported until the store accepts changes again, and damage for ten minutes`() async throws {
        let (folder, clock) = (try TemporaryFolder(), TestClock())
        let store = try Stores.open(folder.path + "/bellhop.db")
        let refusing = try Stores.openForReading(folder.path + "/bellhop.db")
        let watch = StoreWatch(clock: clock)
        let agent = Inquirer.Agent(
            facts: { ["store_trouble": watch.last?.json ?? .null] }, wake: {}, applyKeychainChange: { _, _ in [] })
        func needs(_ store: any Store) async throws -> [JSON] {
            try await Inquirer(store: store, clock: clock, agent: agent).status()["needs"]?.asArray ?? []
        }
        #expect(try await needs(store) == [])
        watch.record(.storeFailed(doing: "claiming deliveries", StoreError(.full, "The disk is full.")))
        #expect(try await needs(refusing) == ["The store failed: The disk is full."])
        #expect(try await needs(store) == [])
        watch.record(.storeFailed(doing: "claiming deliveries", StoreError(.damaged, "It is damaged.")))
        #expect(try await needs(store) == ["The store failed: It is damaged."])
        let failed = clock.now
        await clock.jump(to: failed - .seconds(3600))
        #expect(try await needs(store) == [])
        #expect(await !watch.isFailing(store))
        await clock.jump(to: failed + .seconds(600))
        #expect(try await needs(store) == [])
        try await refusing.close()
        try await store.close()
    }

    @Test func `a lost store ends the agent with this error, whatever fails after it`() async throws {
        let watch = StoreWatch(clock: TestClock())
        let loss = StoreError(.lost, "The file was deleted.")
        watch.record(.storeFailed(doing: "routing", loss))
        watch.record(.storeFailed(doing: "claiming deliveries", StoreError(.other, "It cannot be read.")))
        await #expect(throws: loss) { try await watch.run() }
    }

    @Test func `stopped receivers are shown with their reason and waiting deliveries until the rest ends`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let occasion = Occasion.event(Event.ID("1"))
        let deliveries = ["0", "1", "2"].map { step in
            Delivery(
                id: Delivery.ID(
                    occasion: occasion.id, rule: "tell", step: StepPath(step), receiver: step == "2" ? "mail" : "chat"),
                revision: "1", action: "notify", arguments: .values([:]), task: nil, lane: step, createdAt: clock.now)
        }
        try await store.route(Routing(deliveries: deliveries))
        let claimed = try await store.claim(
            limit: 1, quotas: ["chat": ClaimQuota(attempts: 1)], others: 0, by: .only, until: clock.now + .seconds(60),
            at: clock.now)
        let claim = try #require(claimed.claims.first)
        let rest = ReceiverStop(
            receiver: "chat", cause: .rest, since: clock.now, until: clock.now + .seconds(90), interval: .seconds(1),
            reason: "chat answers 429.")
        let failure = Failure(.throttled, .rest(.seconds(90)), "chat answers 429.")
        _ = try await store.finish([
            Finish(claim, at: clock.now, next: .postponed(failure), stops: [rest])
        ])
        let inquirer = Inquirer(store: store, clock: clock)
        #expect(
            try await inquirer.status()["stopped"] == [
                [
                    "receiver": "chat", "cause": "rest", "since": .string(rest.since.rfc3339),
                    "until": .string((rest.since + .seconds(90)).rfc3339), "waiting": 2, "reason": "chat answers 429.",
                ]
            ])
        await clock.advance(by: .seconds(90))
        #expect(try await inquirer.status()["stopped"] == [])
    }

    @Test func `a source that is no longer in the configuration is left out, also one that took tasks`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let old = Scope(instance: "https://acme.example", user: "ada", kind: "table", query: "old")
        for (scope, name) in [(Self.scope, "incidents"), (old, "old"), (SentTasks.scope("orders"), "orders")] {
            _ = try await store.open(scope, source: name, at: clock.now)
        }
        let health = SourceHealth(failures: 3, failingSince: clock.now, lastError: "It does not answer.", announced: true)
        try await store.setHealth(health, of: old.id, events: [], rest: nil)
        func status(_ sources: [(name: String, scope: Scope)]) async throws -> JSON {
            let agent = Inquirer.Agent(facts: { [:] }, sources: { sources }, wake: {}, applyKeychainChange: { _, _ in [] })
            return try await Inquirer(store: store, clock: clock, agent: agent).status()
        }
        let before = try await status([("incidents", Self.scope), ("old", old)])
        #expect(before["needs"] == ["The source old is failing: It does not answer."])
        func names(_ status: JSON) -> [String] { status["sources"].elements.map { $0["source"]?.asString ?? "" } }
        #expect(names(before) == ["incidents", "old"])
        let taking = ["orders", "later"].map { (name: $0, scope: SentTasks.scope($0)) }
        let after = try await status([(name: "incidents", scope: Self.scope)] + taking)
        #expect(names(after) == ["incidents", "orders"], "no task was sent to the other one yet")
        #expect(after["needs"] == [])
    }

    @Test func `a loop that hangs needs a person`() {
        let status = StoreStatus(sources: [], rules: [], stops: [], deliveries: [:], events: 0, unrouted: 0)
        let needs = StatusNeeds.sentences(status, agent: ["hanging": ["router"]], at: TestClock().now)
        #expect(needs == ["The loop router has made no progress for minutes: restart the agent."])
    }

    @Test func `a receiver that a person paused and that refuses is shown with its refusal`() {
        let now = TestClock().now
        let stops = [ReceiverStop.Cause.person, .refusal].map {
            ReceiverStop(receiver: "chat", cause: $0, since: now, until: nil, reason: "chat answers 404.")
        }
        for stops in [stops, stops.reversed()] {
            let status = StoreStatus(
                sources: [], rules: [], stops: stops.map { .init(stop: $0, waiting: 1) }, deliveries: [:], events: 0,
                unrouted: 0)
            #expect(status.stopped(at: now).map(\.stop.cause) == [.refusal])
            #expect(StatusNeeds.sentences(status, agent: [:], at: now).count == 1)
        }
    }

    @Test func `a connection that cannot be used needs a person at once, and another failure after fifteen minutes`() {
        let now = TestClock().now
        func needs(
            _ failure: Failure?, waits seconds: Int, tried: Int? = nil, next: Int? = nil, paused: ReceiverStop.Cause? = nil,
            until: Int? = nil, agent: JSON.Object? = [:], pauses: [Pause] = []
        ) -> [String] {
            var status = StoreStatus(sources: [], rules: [], stops: [], deliveries: [:], events: 0, unrouted: 0)
            if let paused {
                let stop = ReceiverStop(
                    receiver: "chat", cause: paused, since: now, until: until.map { now + .seconds($0) }, reason: "")
                status.stops = [.init(stop: stop, waiting: 1)]
            }
            status.backlog = [
                .init(
                    receiver: "chat", waiting: 1, since: now - .seconds(seconds), firstAttempt: tried.map { now - .seconds($0) },
                    failure: failure, next: next.map { now + .seconds($0) })
            ]
            status.pauses = pauses
            return StatusNeeds.sentences(status, agent: agent, at: now)
        }
        let refusal = Failure(.unauthenticated, .pauseConnection, "It does not accept the password.")
        #expect(
            needs(refusal, waits: 0) == [
                "The connection chat cannot be used, and its deliveries wait: It does not accept the password."
            ])
        let silence = Failure(.timeout, .retry(after: nil), "It does not answer")
        #expect(needs(silence, waits: 899) == [])
        #expect(needs(silence, waits: 900) == ["A delivery to chat keeps failing: It does not answer."])
        // A quiet time kept it back before.
        #expect(needs(silence, waits: 36_000, tried: 899) == [])
        #expect(needs(silence, waits: 36_000, tried: 900) == ["A delivery to chat keeps failing: It does not answer."])
        let sentence = "A delivery to chat keeps failing: It does not answer."
        #expect(needs(silence, waits: 900, next: 0) == [sentence])
        #expect(needs(silence, waits: 900, next: 600) == ["\(sentence) It is tried next at \(now + .seconds(600))."])
        #expect(
            needs(silence, waits: 900, next: 30, paused: .failures, until: 90) == [
                "\(sentence) It is tried next at \(now + .seconds(90))."
            ])
        // Nothing says when an agent runs again, or when writes go on.
        #expect(needs(silence, waits: 900, next: 600, agent: nil) == [StatusNeeds.noAgent, sentence])
        #expect(needs(silence, waits: 900, next: 600, pauses: [Pause(.writes, since: now, reason: "")]) == [sentence])
        // It waits for its turn, or a person wants it to wait.
        #expect(needs(nil, waits: 900) == [])
        #expect(needs(silence, waits: 900, paused: .person) == [])
    }

    @Test func `a receiver's long answer is quoted in full once, and shortened in the list for people`() {
        let now = TestClock().now
        let reason =
            "chat answered 404: there is nothing at this address (any more): " + String(repeating: "no such page ", count: 40)
        let stop = ReceiverStop(receiver: "chat", cause: .refusal, since: now, until: nil, reason: reason)
        let status = StoreStatus(
            sources: [], rules: [], stops: [.init(stop: stop, waiting: 1)], deliveries: [:], events: 0, unrouted: 0)
        let needs = StatusNeeds.sentences(status, agent: [:], at: now)
        #expect(needs.count == 1)
        let sentence = needs.first ?? ""
        #expect(
            sentence.hasPrefix("The receiver chat is paused: chat answered 404: there is nothing at this address (any more): no"))
        #expect(sentence.hasSuffix("… Repair it, then `bellhop resume chat`."))
        #expect(sentence.count < 220)
    }

    @Test func `a rule that Bellhop paused needs a person, and one that a person paused does not`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let rules = ["full", "loud"].map { RuleRegistration(name: $0, revision: "1", maxKeys: 1) }
        _ = try await store.register(rules, at: clock.now)
        let keys = ["a", "b"].map { StateWrite(StateKey(rule: "full", kind: .once, key: $0), .set(1, expires: nil)) }
        try await store.route(Routing(state: keys, at: clock.now))
        try await store.pause(Pause(.rule("loud"), since: clock.now, reason: "too loud"))
        let agent = Inquirer.Agent(facts: { [:] }, wake: {}, applyKeychainChange: { _, _ in [] })
        let status = try await Inquirer(store: store, clock: clock, agent: agent).status()
        #expect(
            status["needs"] == [
                "The rule full is paused: it has 2 keys of `once`, and may remember 1: `retention: {keys: …}` in bellhop.yaml. Repair it, then `bellhop resume full`."
            ])
        let paused = Dictionary(
            uniqueKeysWithValues: status["paused"].elements.map { ($0["rule"]?.asString ?? "", $0["by_person"] ?? .null) })
        #expect(paused == ["full": false, "loud": true])
        // A rule that was removed needs nobody.
        _ = try await store.register([rules[1]], at: clock.now)
        #expect(try await Inquirer(store: store, clock: clock, agent: agent).status()["needs"] == [])
    }

    private static func rule(_ status: JSON) -> JSON? { status["rules"]?.asArray?.first }

    @Test func `a rule that is turned off is shown as off, without the error of its last run`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        _ = try await store.register([RuleRegistration(name: "tell", revision: "1")], at: clock.now)
        try await store.route(
            Routing(tallies: [RuleTally(rule: "tell", runs: 0, errors: 1, lastError: "no such field", at: clock.now)]))
        let inquirer = Inquirer(store: store, clock: clock)
        let before = try await inquirer.status()
        #expect(Self.rule(before)?["error"] == "no such field" && Self.rule(before)?["off"] == false)
        _ = try await store.register([RuleRegistration(name: "tell", revision: "1", isOff: true)], at: clock.now)
        let off = try await inquirer.status()
        #expect(Self.rule(off)?["error"] == .null && Self.rule(off)?["off"] == true)
        #expect(!(off["needs"]?.asArray ?? []).contains { $0.asString?.contains("tell") == true })
        _ = try await store.register([RuleRegistration(name: "tell", revision: "1")], at: clock.now)
        #expect(Self.rule(try await inquirer.status())?["off"] == false)
    }
}
