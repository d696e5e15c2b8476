import BellhopCore
import Testing

@testable import BellhopStore

@Suite struct `The stored form of deliveries` {
    static let messages = [Message(title: []), Sample.message]

    @Test(arguments: messages) func `a message is equal after storing and reading`(_ message: Message) throws {
        #expect(try Message(stored: JSON.parse(message.stored.encoded())) == message)
    }

    @Test(arguments: Failure.Reason.allCases)
    func `a failure is equal after storing and reading`(_ reason: Failure.Reason) throws {
        let remedies: [Failure.Remedy] = [
            .retry(after: nil), .retry(after: .milliseconds(1500)), .giveUp, .unknownOutcome, .hold, .pauseConnection,
            .pauseReceiver,
        ]
        for remedy in remedies {
            let failure = Failure(reason, remedy, "It said \"no\".")
            #expect(Failure(stored: failure.stored) == failure)
        }
    }

    @Test func `a delivery is equal after storing and reading`() throws {
        for message in Self.messages {
            for initial in [
                Delivery.InitialState.available, .shadow, .silenced(by: "s1"), .dead(Sample.failure), .quiet(Delivery.KeptBack()),
                .quiet(Delivery.KeptBack(task: Sample.snapshot(1), event: 3)), .dropped(Failure(.quiet, .giveUp, "It is quiet.")),
                .done(Receipt("event x", reference: "e1")), .done(Receipt("not sent")),
            ] {
                var delivery = Sample.delivery(1, initial: initial)
                delivery.arguments = .message(message)
                let body = DeliveryBody(delivery)
                #expect(try DeliveryBody(stored: JSON.parse(body.stored.encoded())) == body)
                delivery.task = nil
                delivery.after = [Sample.delivery(2).id, Sample.delivery(3, rule: "other", receiver: "mail").id]
                (delivery.arguments, delivery.settles) = (.values([:]), true)
                delivery.retry = RetryPolicy(attempts: 2, base: .milliseconds(3), cap: .seconds(4))
                #expect(try DeliveryBody(stored: DeliveryBody(delivery).stored) == DeliveryBody(delivery))
            }
        }
    }

    @Test(arguments: [
        #"{"v": 2, "arguments": "of another form"}"#, #"{"v": 1}"#, "[]", "{",
        #"{"v":1,"revision":"","retry":[1,2,3],"message":{}}"#,
    ])
    func `a delivery in an unknown form becomes dead and visible, and its lane goes on`(_ body: String) async throws {
        let bench = Bench(.inMemory)
        try await bench.enqueue([Sample.delivery(1, lane: "a"), Sample.delivery(2, lane: "a")])
        try await bench.tested.setBody(of: Sample.delivery(1).id, to: body)
        #expect(try await bench.claim().isEmpty)
        let record = try await bench.store.deliveries(DeliveryQuery(states: [.dead]))[0]
        #expect(record.delivery.id == Sample.delivery(1).id)
        #expect(record.failure?.reason == .badArguments)
        #expect(record.failure?.message.contains("cannot be read from the store") == true)
        #expect(try await bench.claim().map(\.delivery.id) == [Sample.delivery(2).id])
    }

    @Test func `a delivery of a newer form is dead, and its failure says what to do`() throws {
        let thrown = #expect(throws: DamagedValue.self) { try DeliveryBody(stored: ["v": 2]) }
        let error = try #require(thrown)
        #expect(
            DeliveryRow.failure(error).message
                == "The content cannot be read from the store: a delivery has form 2, and this version reads forms up to 1. "
                + "Retry it with the newer Bellhop that wrote it.")
    }

    @Test(arguments: StoredForm.allCases) func `JSON of a later version states it, and JSON of the first one does not`(
        _ form: StoredForm
    ) throws {
        let json: JSON = ["name": "a"]
        #expect(StoredForm.stamp(json, version: 1) == json)
        #expect(StoredForm.stamp(json, version: 2) == ["name": "a", "v": 2])
        try form.check(form.stamp(json))
        let newer = StoredForm.stamp(json, version: form.version + 1)
        #expect(throws: DamagedValue.self) { try form.check(newer) }
    }

    @Test(arguments: [
        (StoredForm.ruleState, "rule_state SET value"), (.silence, "silence SET body"), (.task, "task SET snapshot"),
        (.task, "departed SET snapshot"), (.timer, "timer SET payload"),
    ])
    func `any other newer form is refused, with what to do`(_ form: StoredForm, _ column: String) async throws {
        let tested = try SQLiteUnderTest()
        try await StoreContents.fill(tested.store)
        _ = try await tested.sqlite.write { session in try session.run("UPDATE \(column) = '{\"v\":\(form.version + 1)}'") }
        let error = await #expect(throws: StoreError.self) { _ = try await StoreContents(of: tested.store) }
        #expect(error?.kind == .newer)
        #expect(
            error?.message
                == "The store in memory was written by a newer Bellhop (\(form.rawValue) has form \(form.version + 1), "
                + "and this version reads forms up to \(form.version)): use that version.")
    }

    // The forms of schema 1, written out: they are read for ever, whatever is written later.

    @Test func `a delivery of form 1 is read`() throws {
        let text = """
            {"v":1,"revision":"r1","retry":[8,2000000,600000000],"values":{"text":"hello"},"name":"INC1","task":{"source":"tasks",\
            "key":"k","number":"INC1","title":"t","class":"incident","url":"https://a/b","subject":"https://a/k"},\
            "after":[["event/e","rule","0","chat"]],"settles":true,"initial":{"reason":"budget","message":"too many","remedy":"give_up"}}
            """
        let body = try DeliveryBody(stored: JSON.parse(Array(text.utf8)))
        var delivery = Sample.delivery(1, initial: .dead(Failure(.budget, .giveUp, "too many")))
        delivery.name = "INC1"
        delivery.arguments = .values(["text": "hello"])
        delivery.task = TaskReference(
            source: "tasks", key: TaskKey("k"), number: "INC1", title: "t", className: "incident", url: "https://a/b",
            subject: "https://a/k")
        delivery.retry = RetryPolicy(attempts: 8, base: .seconds(2), cap: .seconds(600))
        delivery.after = [Delivery.ID(occasion: Occasion.ID("event/e"), rule: "rule", step: StepPath("0"), receiver: "chat")]
        delivery.settles = true
        #expect(body == DeliveryBody(delivery))
        let least = try DeliveryBody(
            stored: JSON.parse(Array(#"{"v":1,"revision":"r1","retry":[8,1,2],"values":{},"later":1}"#.utf8)))
        #expect(least.name == nil && least.task == nil && least.after.isEmpty && least.initial == .available)
    }

    @Test func `a message of form 1 is read`() throws {
        let text = """
            {"title":[{"text":"A "},{"value":"v"},{"break":true}],"severity":"critical","text":[{"paragraph":[{"strong":[{"emphasis":\
            [{"code":[{"text":"deep"}]}]}]},{"link":[{"value":"l"}],"address":[{"text":"https://"}]}]},{"list":[[{"text":"1"}]],\
            "ordered":true}],"list":{"items":[[{"value":"a"}]],"more":7,"empty":[{"text":"none"}]},"fields":[{"name":[{"text":"State"}],\
            "value":[{"value":"New"}]}],"link":{"label":"Open","address":"https://b"},"thread":"INC1","fallback":true}
            """
        let message = Message(
            title: [.text("A "), .value("v"), .lineBreak],
            text: [
                .paragraph([
                    .strong([.emphasis([.code([.text("deep")])])]), .link(label: [.value("l")], address: [.text("https://")]),
                ]), .list(ordered: true, items: [[.text("1")]]),
            ],
            list: Message.List(items: [[.value("a")]], more: 7, empty: [.text("none")]),
            fields: [.init(name: [.text("State")], value: [.value("New")])], severity: .critical,
            link: .init(label: "Open", address: "https://b"), thread: "INC1", isFallback: true)
        #expect(try Message(stored: JSON.parse(Array(text.utf8))) == message)
        #expect(try Message(stored: JSON.parse(Array(#"{"title":[],"severity":"info"}"#.utf8))) == Message(title: []))
    }

    @Test func `failures and the health of sources are read, also those of other versions`() throws {
        func failure(_ text: String) throws -> Failure { Failure(stored: try JSON.parse(Array(text.utf8))) }
        #expect(
            try failure(#"{"reason":"timeout","message":"It hung.","remedy":"retry","after":7000000}"#)
                == Failure(.timeout, .retry(after: .seconds(7)), "It hung."))
        #expect(try failure(#"{"reason":"throttled","message":"429","remedy":"rest"}"#) == Failure(.throttled, .rest(nil), "429"))
        #expect(try failure(#"{"reason":"of later","message":"m","remedy":"of later"}"#) == Failure(.refused, .giveUp, "m"))
        func health(_ text: String) throws -> SourceHealth { SourceHealth(stored: try JSON.parse(Array(text.utf8))) }
        let text = """
            {"failures":2,"announced":true,"failingSince":1,"lastError":"e","lastSuccess":2,"held":{"fingerprint":\
            "00000000000000000000000000000001","known":3,"listed":0,"new":0,"gone":3,"changed":0,"fields":["state"],"polls":2,\
            "since":4},"emptySince":5}
            """
        let read = try health(text)
        #expect(read.failures == 2 && read.announced && read.lastError == "e" && read.held?.fields == ["state"])
        #expect(read.failingSince?.microseconds == 1 && read.lastSuccess?.microseconds == 2)
        #expect(read.emptyBaseline?.since.microseconds == 5)
        #expect(try health(#"{"failures":1,"announced":false,"held":{"of":"later"}}"#) == SourceHealth(failures: 1))
        #expect(try health("{}") == SourceHealth())
    }
}
