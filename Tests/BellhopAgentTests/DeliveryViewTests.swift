import BellhopCore
import BellhopRules
import BellhopStore
import BellhopTesting
import Testing

@testable import BellhopAgent

extension Inquirer {
    /// The rows of an answer that is one page.
    fileprivate func rows(_ inquiry: Inquiry) async throws -> [JSON] {
        var answer = self.answer(inquiry)
        guard case .rows(let rows) = try await answer.next() else { return [] }
        return rows
    }
}

/// The answers of an agent to `bellhop deliveries`.
@Suite struct `A delivery in detail` {
    private static let message = Message(
        title: [.text("New: "), .value("INC0010001")],
        text: [.paragraph([.text("A "), .strong([.value("printer")]), .text(" burns.")])],
        fields: [.init(name: [.text("Priority")], value: [.value("2")])], severity: .warning)

    /// A delivery of a message to `ops`, as answered for its id or in the list.
    private func shown(
        whole: Bool, kind: String?, _ settings: JSON.Object = [:], _ message: Message = message
    ) async throws -> JSON {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let occasion = Occasion.event(Event.ID("1"))
        let delivery = Delivery(
            id: Delivery.ID(occasion: occasion.id, rule: "tell", step: StepPath("0"), receiver: "ops"), revision: "1",
            action: "notify", arguments: .message(message), task: nil, lane: "ops", createdAt: clock.now, initial: .shadow)
        try await store.route(Routing(deliveries: [delivery]))
        let connection = kind.map { Configuration.ConnectionEntry(name: "ops", kind: $0, settings: Settings(settings)) }
        let inquirer = Inquirer(store: store, clock: clock, connection: { $0 == "ops" ? connection : nil })
        return try #require(try await inquirer.rows(.deliveries(DeliveryQuery(id: whole ? delivery.id.text : nil))).first)
    }

    @Test func `both the list and the answer for one id contain the whole message`() async throws {
        for whole in [true, false] {
            let delivery = try await shown(whole: whole, kind: nil)
            #expect(
                delivery["message"] == [
                    "title": "New: INC0010001", "text": "Warning: New: INC0010001\n\nA printer burns.\n\nPriority: 2",
                ])
            #expect(delivery["request"] == nil)
        }
    }

    @Test func `the answer for one id shows the request to the receiver, without the secret address`() async throws {
        let slack = try await shown(whole: true, kind: "slack")
        #expect(slack.at("request", "to") == "the address of connection ops (kind slack)")
        #expect(slack.at("request", "body", "blocks")?.asArray?.isEmpty == false)
        let webhook = try await shown(whole: true, kind: "webhook")
        #expect(webhook.at("request", "body", "title") == "New: INC0010001")
        #expect(webhook.at("request", "body", "fields") == [["name": "Priority", "value": "2"]])
        #expect(try await shown(whole: false, kind: "slack")["request"] == nil)
    }

    @Test func `the history of an event says which pause each of its deliveries waits for`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let event = Event(
            id: Event.ID("e1"), type: .taskCreated, source: "tasks", subject: "task/1", time: clock.now, data: [:])
        try await store.append([event])
        let deliveries = ["ops", "snow", "mail"].enumerated().map { step, receiver in
            var delivery = Delivery(
                id: Delivery.ID(
                    occasion: Occasion.event(event.id).id, rule: "tell", step: StepPath(index: step), receiver: receiver),
                revision: "1", action: "log", arguments: .values(["text": "x"]), task: nil, lane: receiver,
                createdAt: clock.now)
            if receiver == "snow" { delivery.effect = .makes }
            return delivery
        }
        try await store.route(Routing(deliveries: deliveries))
        let pause = ReceiverStop(receiver: "ops", cause: .person, since: clock.now, until: nil, reason: "The channel moves.")
        try await store.pause(ReceiverPause(pause))
        try await store.pause(Pause(.writes, since: clock.now, reason: "upgrade"))
        let rows = try await Inquirer(store: store, clock: clock).rows(.history(HistoryQuery(event: "e1")))
        let shown = ExplanationFacts(rows: rows, end: [:]).deliveries
        let causes = Dictionary(uniqueKeysWithValues: shown.map { ($0.receiver, $0.stop?["cause"]?.asString ?? "") })
        #expect(causes == ["ops": "person", "snow": "writes", "mail": ""])
    }

    @Test func `a message that joined others waits for the paused receiver as the one that has it does`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let event = Event(
            id: Event.ID("e1"), type: .taskCreated, source: "tasks", subject: "task/1", time: clock.now, data: [:])
        try await store.append([event])
        let deliveries = (0..<2).map { step in
            Delivery(
                id: Delivery.ID(
                    occasion: Occasion.event(event.id).id, rule: "tell", step: StepPath(index: step), receiver: "ops"),
                revision: "1", action: "notify", arguments: .message(Self.message), task: nil, lane: "\(step)",
                createdAt: clock.now)
        }
        try await store.route(Routing(deliveries: deliveries))
        #expect(try await store.coalesce(receiver: "ops", above: 1, at: clock.now) == 2)
        func stops(_ inquiry: Inquiry, _ name: String?) async throws -> [JSON] {
            let rows = try await Inquirer(store: store, clock: clock).rows(inquiry)
            return rows.compactMap { row in name.map { row[$0] } ?? row }.map { $0["stopped"]?["cause"] ?? .null }
        }
        #expect(try await stops(.deliveries(DeliveryQuery()), nil) == [.null, .null, .null])
        let pause = ReceiverStop(receiver: "ops", cause: .person, since: clock.now, until: nil, reason: "The channel moves.")
        try await store.pause(ReceiverPause(pause))
        #expect(try await stops(.deliveries(DeliveryQuery()), nil) == ["person", "person", "person"])
        #expect(try await stops(.history(HistoryQuery(event: "e1")), "delivery") == ["person", "person", "person"])
    }

    @Test func `a delivery whose next attempt comes after the end of its receiver's stop does not wait for the stop`()
        async throws
    {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let deliveries = (0..<2).map { step in
            Delivery(
                id: Delivery.ID(
                    occasion: Occasion.event(Event.ID("e1")).id, rule: "tell", step: StepPath(index: step), receiver: "ops"),
                revision: "1", action: "notify", arguments: .message(Self.message), task: nil, lane: "\(step)",
                createdAt: clock.now)
        }
        try await store.route(Routing(deliveries: deliveries))
        let claimed = try await store.claim(
            limit: 1, quotas: ["ops": ClaimQuota(attempts: 1)], others: 0, by: .only, until: clock.now + .seconds(60),
            at: clock.now)
        let failure = Failure(.unreachable, .retry(after: nil), "It does not answer.")
        let breaker = ReceiverStop(
            receiver: "ops", cause: .failures, since: clock.now, until: clock.now + .seconds(5), reason: "It does not answer.")
        _ = try await store.finish([
            Finish(
                try #require(claimed.claims.first), at: clock.now, next: .retry(at: clock.now + .seconds(60), failure),
                stops: [breaker])
        ])
        let rows = try await Inquirer(store: store, clock: clock).rows(.deliveries(DeliveryQuery()))
        let causes = rows.map { (attempts: $0["attempts"]?.asInt, cause: $0["stopped"]?["cause"]?.asString) }
        #expect(causes.first { $0.attempts == 1 }.map { $0.cause == nil } == true)
        #expect(causes.first { $0.attempts == 0 }?.cause == "failures")
    }

    @Test func `the request shows the destination of the message, and no secret`() async throws {
        var message = Self.message
        message.thread = "INC0010001"
        let trigger = try await shown(whole: true, kind: "pagerduty", ["routing_key": "hunter2hunter2"], message)
        #expect(trigger.at("request", "body", "event_action") == "trigger")
        #expect(trigger.at("request", "body", "dedup_key") == "INC0010001")
        #expect(trigger.at("request", "body", "payload", "summary") == "New: INC0010001")
        let opsgenie = try await shown(whole: true, kind: "opsgenie", ["key": "hunter2hunter2"], message)
        #expect(opsgenie.at("request", "body", "alias") == "INC0010001")
        message.resolve = true
        let resolve = try await shown(whole: true, kind: "pagerduty", ["routing_key": "hunter2hunter2"], message)
        #expect(resolve.at("request", "body") == ["event_action": "resolve", "dedup_key": "INC0010001"])
        let telegram = try await shown(whole: true, kind: "telegram", ["token": "hunter2", "chat": "-100", "topic": 7])
        #expect(telegram.at("request", "body", "chat_id") == -100)
        #expect(telegram.at("request", "body", "message_thread_id") == 7)
        let slack = try await shown(whole: true, kind: "slack", ["token": "xoxb-hunter2", "channel": "C1"])
        #expect(slack.at("request", "body", "channel") == "C1")
        let forum = try await shown(whole: true, kind: "discord", ["channel": "forum"])
        #expect(forum.at("request", "body", "thread_name") == "⚠️ New: INC0010001")
        let event = try await shown(whole: true, kind: "webhook", ["format": "cloudevents"])
        #expect(event.at("request", "body", "specversion") == "1.0")
        let mail = try await shown(whole: true, kind: "email", ["from": "a@example.com", "to": ["b@example.com"]])
        #expect(mail.at("request", "body", "to") == ["b@example.com"])
        for delivery in [trigger, opsgenie, resolve, telegram, slack] { #expect(!delivery.text.contains("hunter2")) }
    }
}

/// `bellhop deliveries retry` and `drop`.
@Suite struct `A decision on deliveries` {
    @Test func `a retry begins the attempts of the policy anew, while the list and the explanation count all`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let event = Event(
            id: Event.ID("e1"), type: .taskCreated, source: "tasks", subject: "task/1", time: clock.now, data: [:])
        try await store.append([event])
        let delivery = Delivery(
            id: Delivery.ID(
                occasion: Occasion.event(event.id).id, rule: "tell", step: StepPath("0"), receiver: "ops"),
            revision: "1", action: "log", arguments: .values(["text": "x"]), task: nil, lane: "ops", createdAt: clock.now)
        try await store.route(Routing(deliveries: [delivery]))
        let failure = Failure(.refused, .giveUp, "ops says no.")
        var numbers: [Int] = []
        for next in [.dead(failure), .postponed(failure), .done(Receipt("201"))] as [RetryPolicy.Next] {
            let claimed = try await store.claim(
                limit: 1, quotas: ["ops": ClaimQuota(attempts: 1)], others: 0, by: .only, until: clock.now + .seconds(60),
                at: clock.now)
            let claim = try #require(claimed.claims.first)
            numbers.append(claim.attempt.number)
            _ = try await store.finish([Finish(claim, at: clock.now, next: next)])
            _ = try await store.apply(.retry, to: [delivery.id], at: clock.now)
        }
        #expect(numbers == [1, 1, 1])
        let inquirer = Inquirer(store: store, clock: clock)
        #expect(try await inquirer.rows(.deliveries(DeliveryQuery())).map { $0["attempts"] } == [3])
        let explained = ExplanationFacts(rows: try await inquirer.rows(.history(HistoryQuery(event: "e1"))), end: [:])
        #expect(explained.deliveries.map { $0.attempts.map(\.number) } == [[1, 2, 3]])
    }

    @Test func `deliveries that can never be retried are counted, and the answer names the others`() async throws {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let failure = Failure(.refused, .giveUp, "ops says no.")
        let initial: [Delivery.InitialState] = [.done(Receipt("201")), .shadow, .dead(failure), .available]
        let deliveries = initial.enumerated().map { number, state in
            Delivery(
                id: Delivery.ID(
                    occasion: Occasion.event(Event.ID("1")).id, rule: "tell", step: StepPath(index: number), receiver: "ops"),
                revision: "1", action: "log", arguments: .values(["text": "x"]), task: nil, lane: "\(number)",
                createdAt: clock.now, initial: state)
        }
        try await store.route(Routing(deliveries: deliveries))
        let answer = try await Inquirer(store: store, clock: clock).apply(.retry, to: deliveries.map(\.id.text))
        #expect(answer["changed"] == 2 && answer["refused"] == 2)
        #expect(answer["deliveries"]?.asArray == deliveries[2...].map { JSON.string($0.id.text) })
        let states = try await store.deliveries(DeliveryQuery()).map(\.state)
        #expect(states == [.done, .shadow, .available, .available])
    }

    @Test func `a decision on a joined delivery is refused, and the error names the delivery to decide on instead`() async throws
    {
        let (store, clock) = (try Stores.inMemory(), TestClock())
        let deliveries = (1...2).map { number in
            Delivery(
                id: Delivery.ID(
                    occasion: Occasion.event(Event.ID("\(number)")).id, rule: "tell", step: StepPath("0"), receiver: "ops"),
                revision: "1", action: "notify", arguments: .message(Message(title: [.text("New")])), task: nil,
                lane: "\(number)", createdAt: clock.now)
        }
        try await store.route(Routing(deliveries: deliveries))
        #expect(try await store.coalesce(receiver: "ops", above: 1, at: clock.now) == 2)
        let inquirer = Inquirer(store: store, clock: clock)
        let (id, whole) = (deliveries[0].id.text, Delivery.coalescing(deliveries[0]).text)
        func refusal(_ command: DeliveryCommand) async throws -> String? {
            await #expect(throws: StoreError.self) { try await inquirer.apply(command, to: [id]) }?.message
        }
        let fact = "Delivery \(id.prefix(12)) joined delivery \(whole), which"
        let advice = "`bellhop deliveries drop \(whole.prefix(12))` drops that one, with all its messages."
        #expect(try await refusal(.drop) == "\(fact) waits. \(advice)")
        let claimed = try await store.claim(
            limit: 1, quotas: ["ops": ClaimQuota(attempts: 1)], others: 0, by: .only, until: clock.now + .seconds(60),
            at: clock.now)
        let claim = try #require(claimed.claims.first)
        #expect(try await refusal(.drop) == "\(fact) is being sent. There is nothing to drop.")
        let failure = Failure(.refused, .giveUp, "ops says no.")
        _ = try await store.finish([Finish(claim, at: clock.now, next: .dead(failure))])
        let retry = "`bellhop deliveries retry \(whole.prefix(12))` retries that one, with all its messages."
        #expect(try await refusal(.retry) == "\(fact) failed: ops says no. \(retry)")
    }
}
