import BellhopCore
import BellhopRules
import Testing

@testable import BellhopAgent
@testable import BellhopConsole

@Suite struct `German pages` {
    /// The words that the agent has for states, verdicts, acts and kinds.
    private static let names: [String] =
        Explanation.Verdict.allCases.map(\.rawValue) + DecisionRecord.Verdict.allCases.map(\.rawValue)
        + DeliveryState.allCases.map(\.rawValue) + SourceState.allCases.map(\.rawValue)
        + BackTestJobs.Job.State.allCases.map(\.rawValue) + AuditAct.allCases.map(\.rawValue)
        + AttemptOutcome.allCases.map(\.rawValue) + StoreStatus.WaitStatus.Part.allCases.map(\.rawValue)
        + ["schedule", "existing", "attempt", "live", "shadow", "canary", "off", "active", "paused"]
        + ["sent", "empty", "released"]

    @Test func `each name of a state, a verdict, an act and a kind has a German word`() {
        #expect(Self.names.filter { Words.german[$0] == nil } == [])
    }

    @Test func `each fact of the audit has a German word`() {
        let facts = [
            "Action", "Added", "After", "Anew", "Attempt", "Before", "Changed", "Delivery", "Detail", "Event", "File", "Force",
            "Hash", "Name", "Number", "Outcome", "Reason", "Receiver", "Removed", "Role", "Routed", "Rule", "Silence", "Step",
            "Task", "Through", "To", "Type", "Writes",
        ]
        #expect(facts.filter { Words.german[$0] == nil } == [])
    }

    /// The texts between the tags of a page, without code.
    private static func texts(_ page: String) -> [String] {
        page.replacing(/<(pre|textarea|code|script|style)[^>]*>.*?<\/\1>/.dotMatchesNewlines(), with: "").matches(of: />([^<]+)</)
            .map { String($0.output.1).trimming }.filter { !$0.isEmpty }
    }

    @Test func `German pages show no English name of a state, a verdict, an act or a kind`() async throws {
        let fixture = try await ConsoleFixture()
        let event = try await fixture.happen("A printer burns", "Another").first
        let browser = try await fixture.logIn(as: .operator)
        // Acts for the audit.
        _ = try await fixture.view.ask(.pause(.rule("acknowledge"), reason: "loud"))
        _ = try await fixture.view.ask(.resume(.rule("acknowledge")))
        _ = await fixture.api("POST", "/silences", as: .operator, body: ["for": "2h"])
        let delivery = await fixture.deliveryID()
        _ = await browser.post("/backtests")
        let names = Set(Self.names.filter { Words.german[$0] != $0 })
        for address in [
            "/", "/events", "/events/\(event?.id.text ?? "")", "/tasks", "/tasks/INC1000", "/rules", "/rules/acknowledge",
            "/deliveries", "/deliveries/\(delivery)", "/timers", "/calendar", "/silences", "/receivers", "/audit", "/backtests",
        ] {
            let answer = await browser.get(address, language: "de")
            #expect(answer.status == 200, "\(address)")
            let texts = Self.texts(answer.text)
            #expect(texts.filter { names.contains($0) } == [], "\(address)")
            for label in ["Outcome:", "Receiver:", "Rule:", "Silence:"] {
                #expect(!texts.contains { $0.contains(label) }, "\(address)")
            }
        }
        let quiet = try #require(try await fixture.happen(["nothing"], from: 20).first)
        let story = await browser.get("/events/\(quiet.id.text)", language: "de").text
        #expect(story.contains("<strong>im Schatten</strong> sie ist im Schatten, ihre Zustellungen werden nur aufgezeichnet"))
        #expect(story.contains("die Regel wurde seither geändert"))
        let audit = await browser.get("/audit", language: "de").text
        #expect(audit.contains("<td data-label=\"Handlung\">angehalten</td>") && audit.contains("Regel: acknowledge"))
    }

    @Test func `German sentences about what needs a person keep names and errors unchanged`() async throws {
        let now = Timestamp(seconds: 1_800_000_000)
        let stop = ReceiverStop(receiver: "chat", cause: .refusal, since: now, until: nil, reason: "chat answers 404.")
        func sentences(_ count: Int) -> [String] {
            var health = SourceHealth()
            health.announced = true
            health.lastError = "no answer"
            let rule = StoreStatus.RuleStatus(
                rule: "tell", runs: 1, errors: 1, lastError: "no such field", lastRun: now, nextDue: nil, isOff: false)
            let source = StoreStatus.SourceStatus(
                source: "incidents", scope: Scope(instance: "i", user: "u", kind: "k", query: "q"), hasBaseline: true, tasks: 0,
                lastCommit: nil, health: health)
            var status = StoreStatus(
                sources: [source], rules: [rule], stops: [.init(stop: stop, waiting: 1)],
                deliveries: [.dead: count, .held: count], events: 0, unrouted: 0)
            status.pauses = [Pause(.rule("tell"), since: now, reason: "it has 3 keys of `once`", isByPerson: false)]
            status.backlog = [
                .init(
                    receiver: "api", waiting: 1, since: now,
                    failure: Failure(.unauthenticated, .pauseConnection, "api answers 401.")),
                .init(
                    receiver: "mail", waiting: 1, since: now - .seconds(900),
                    failure: Failure(.unreachable, .retry(after: nil), "mail does not answer.")),
            ]
            let trouble: JSON = ["time": .string(now.rfc3339), "message": "The disk is full."]
            let agent: JSON.Object = [
                "hanging": ["router"], "refused_rules": 1, "restart_needed": true, "store_trouble": trouble,
                "unbound": ["snow": "the login is missing", "source inbox": "the secret is missing"],
            ]
            let agents: [JSON.Object?] = [agent, ["configuration_wrong": true], ["configuration_unreadable": true], nil]
            return agents.flatMap { StatusNeeds.sentences(status, agent: $0, at: now) }
        }
        let t = Words(language: .german)
        for sentence in sentences(1) + sentences(3) {
            let german = t.sentence(sentence)
            #expect(german != sentence, "\(sentence)")
            for name in [
                "`bellhop deliveries --state dead`", "incidents", "no such field", "chat answers 404.", "api answers 401.",
                "mail does not answer.", "The disk is full.",
            ]
            where sentence.contains(name) {
                #expect(german.contains(name), "\(german)")
            }
        }
        #expect(t.sentence("The source a is failing: x is failing: y.") == "Die Quelle a ist gestört: x is failing: y.")
        #expect(
            t.sentence("A delivery to a keeps failing: x: 502. It is tried next at 2026-01-05T09:00:00Z.")
                == "Eine Zustellung an a schlägt immer wieder fehl: x: 502. Nächster Versuch: 2026-01-05T09:00:00Z.")
        #expect(t.sentence("3 deliveries are dead: `b`.") == "3 Zustellungen sind aufgegeben: `b`.")
        #expect(t.sentence("Something else.") == "Something else.")
        #expect(Words(language: .english).sentence("No agent is running.") == "No agent is running.")
    }

    @Test func `German sentences quote the reasons of pauses and of the ends of escalations in German`() {
        let t = Words(language: .german)
        let pause = Pause(
            .rule("tell"), since: Timestamp(seconds: 1_800_000_000),
            reason: "it has 3 keys of `once`, and may remember 2: `retention: {keys: …}` in bellhop.yaml", isByPerson: false)
        var status = StoreStatus(sources: [], rules: [], stops: [], deliveries: [:], events: 0, unrouted: 0)
        status.pauses = [pause]
        #expect(
            StatusNeeds.sentences(status, agent: [:], at: pause.since).map(t.sentence) == [
                "Die Regel tell ist angehalten: sie hat 3 Schlüssel von `once` und darf sich 2 merken: `retention: {keys: …}` in bellhop.yaml. Beheben Sie es, dann `bellhop resume tell`."
            ])
        #expect(t.sentence("paused by hand") == "von Hand angehalten")
        #expect(t.sentence("until Anna is back") == "until Anna is back")
        #expect(
            t.sentence("the escalation has ended: event 0123456789ab answered the task at noon")
                == "die Eskalation ist beendet: Ereignis 0123456789ab beantwortete die Aufgabe um noon")
    }

    @Test(.timeLimit(.minutes(5))) func `German sentences within sentences are translated once each`() {
        let english = String(repeating: "The source a is failing: ", count: 60) + "no answer"
        let german = String(repeating: "Die Quelle a ist gestört: ", count: 60) + "no answer"
        #expect(Words(language: .german).sentence(english) == german)
    }

    @Test func `German pages have the limits of a back-test in German`() throws {
        let since = Timestamp(seconds: 1_800_000_000)
        func event(_ type: EventType, _ data: JSON.Object = [:], after seconds: Int) -> Event {
            Event(
                id: Event.ID("\(seconds)"), type: type, source: "inbox", subject: "x", time: since + .seconds(seconds), data: data
            )
        }
        var (gaps, eleven) = (BackTestGaps(), BackTestGaps())
        for seconds in 2...23 { eleven.note(event(seconds % 2 == 0 ? .sourceFailing : .sourceRecovered, after: seconds)) }
        gaps.unseen = ["mail"]
        gaps.note(event(.sourceRecovered, after: 1))
        gaps.note(event(.receiverPaused, ["receiver": "ops"], after: 2))
        gaps.note(event(.receiverResumed, ["receiver": "ops"], after: 3))
        gaps.note([Pause(.rule("a"), since: since, reason: ""), Pause(.writes, since: since, reason: "")], [])
        for seconds in 4...40 { gaps.note(event(seconds % 2 == 0 ? .sourceFailing : .sourceRecovered, after: seconds)) }
        let reload = #"{"act":"reload","added":["a"]}"#
        let forget = #"{"act":"forget","task":"snow/1","number":"INC1"}"#
        for entry in [reload, forget] { gaps.note(AuditRow(number: 1, at: since + .seconds(9), entry: entry, hash: "")) }
        let rules =
            "rule: a\non: {every: 1h}\ndo: [{log: \"${{ string(tasks.size()) }}\"}]\n---\n"
            + "rule: b\non: task_created\nonce: task.id\ndo: [{log: x}]\n"
        let book = try RuleBook.load(
            [RuleFile(path: "rules/a.yaml", bytes: Array(rules.utf8))], context: RuleLoading.openContext())
        var report = BackTestReport(since: since, until: since + .days(1))
        (report.first, report.unreadable, report.ahead) = (since + .seconds(7200), 2, 3)
        let empty = BackTestReport(since: since, until: since)
        let sentences = [gaps, eleven].flatMap { $0.sentences(of: book, report) } + BackTestGaps().sentences(of: book, empty)
        #expect(sentences.contains("There is one more such time."))
        let t = Words(language: .german)
        for sentence in sentences {
            let german = t.sentence(sentence)
            #expect(german != sentence && !german.contains("until") && !german.contains("from "), "\(sentence)")
        }
        #expect(sentences.count > 15)
    }

    @Test func `German pages explain refusals in German`() async throws {
        let fixture = try await ConsoleFixture()
        let browser = try await fixture.logIn(as: .viewer)
        for (address, words) in [
            ("/nothing", "Diese Seite gibt es nicht."),
            ("/rules/acknowlege", "Es gibt keine Regel `acknowlege`: meinten Sie `acknowledge`?"),
            ("/events?since=soon", "Der Filter `since` ist eine Zeitspanne wie 7d."),
            ("/rules/acknowledge/workbench", "Dafür ist die Rolle `operator` nötig; Ihre ist `viewer`."),
            ("/backtests/0123", "Es gibt keinen Rückblick-Test `0123`"), ("/tasks/INC9", "`INC9`"),
            ("/events/0123", "Es gibt kein Ereignis `0123`, oder es ist nicht mehr gespeichert."),
            ("/deliveries/0123", "Es gibt keine Zustellung `0123`, oder sie ist nicht mehr gespeichert."),
            ("/deliveries?zzzzzzz=x", "Es gibt keinen Filter `zzzzzzz`; es gibt: `state`"),
        ] {
            let text = await browser.get(address, language: "de").text
            #expect(text.contains("role=\"alert\">") && text.contains(words), "\(address)")
        }
        for error: WorkshopError in [.changed, .exists("rules/a.yaml"), .noRules] {
            let problem = Problem(error).detail
            #expect(Words(language: .german).sentence(problem) != problem, "\(problem)")
        }
        for path in ["rules/a.txt", "rules/.a.yaml", "rules/a.test.yaml", "rules/bellhop.yaml", "rules/a.yaml", "rules/a\n.yaml"]
        {
            let refusal = RulePlaces([]).refusal(of: path) ?? ""
            #expect(Words(language: .german).sentence(refusal) != refusal, "\(refusal)")
        }
        let admin = try await fixture.logIn(as: .operator)
        try await fixture.happen("A printer burns")
        let delivery = await fixture.deliveryID()
        for (address, words) in [
            ("/deliveries/\(delivery)/edit", "Der Zustand der Zustellung \(delivery.prefix(12)) ist „im Schatten“: Nur eine"),
            ("/events?type=task_craeted", "Es gibt kein Ereignis `task_craeted`: meinten Sie `task_created`?"),
            ("/events?type=zzzz", "Es gibt kein Ereignis `zzzz`: verwenden Sie "),
        ] { #expect(await admin.get(address, language: "de").text.contains(words), "\(address)") }
        #expect(Words(language: .german).sentence("There is no delivery ab.") == "Es gibt keine Zustellung ab.")
        let bench = await admin.get("/workbench", language: "de").text
        #expect(bench.contains("Hier wird nichts gespeichert: `console.edit: true` in bellhop.yaml erlaubt es."))
    }
}

extension String {
    fileprivate var trimming: String { String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed()) }
}
