import BellhopAgent
import BellhopCore
import BellhopTesting
import Foundation
import Testing

@testable import bellhop

/// `bellhop top`: keys, tables and rates.
@Suite(.timeLimit(.minutes(2))) struct TopTests {
    private static let names = ["alpha", "beta", "gamma"]

    private static func look(
        rules: [String] = names, runs: Int64 = 0, paused: [String] = [], deliveries: [JSON] = [], seen: [String: Int64] = [:]
    ) -> TopLook {
        let rules: [JSON] = rules.map {
            [
                "rule": .string($0), "runs": .int(runs), "errors": 0, "error": .null, "last_run": .null, "next": .null,
                "off": false,
            ]
        }
        let status: JSON = [
            "agent": ["version": "0.1.0", "pid": 7, "started": "2026-01-05T09:00:00Z", "in_flight": 0],
            "rules": .array(rules), "paused": .array(paused.map { ["rule": .string($0)] }), "sources": [],
            "deliveries": ["dead": .int(Int64(deliveries.count))], "unrouted": 0,
            "undecided": deliveries.isEmpty ? [] : [["state": "dead", "receiver": "ops", "count": 1200]],
            "stopped": [
                [
                    "receiver": "page", "cause": "person", "since": "2026-01-05T09:00:00Z", "until": .null, "reason": "by hand",
                    "waiting": 3,
                ]
            ],
            "needs": [.string(String(repeating: "A long reason. ", count: 20)), "Second.", "Third."],
        ]
        return TopLook(status: status, deliveries: deliveries, events: [], seen: seen, connections: ["ops", "page"], zone: .utc)
    }

    private static func delivery(_ id: String) -> JSON {
        ["id": .string(id), "state": "dead", "rule": "alpha", "action": "notify", "receiver": "ops", "attempts": 1]
    }

    private static func view(_ tab: TopView.Tab, _ look: TopLook = look()) -> TopView {
        var view = TopView()
        view.show(look, at: .zero)
        _ = view.press(.text("\(tab.rawValue + 1)"))
        return view
    }

    @Test func `arrows and numbers change the view, and the first follows the last`() {
        var view = Self.view(.sources)
        _ = view.press(.left)
        #expect(view.tab == .events)
        _ = view.press(.right)
        #expect(view.tab == .sources)
        _ = view.press(.text("4"))
        #expect(view.tab == .deliveries)
    }

    @Test func `a selected row stays selected when rows before it come and go`() {
        var view = Self.view(.rules)
        _ = view.press(.down)
        #expect(view.selected == 1)
        view.show(Self.look(rules: ["a", "b"] + Self.names), at: .seconds(2))
        #expect(view.selected == 3)
        view.show(Self.look(rules: ["gamma"]), at: .seconds(4))
        #expect(view.selected == 0)
    }

    @Test func `a rule and a receiver can be paused and resumed; other rows cannot`() {
        var rules = Self.view(.rules, Self.look(paused: ["beta"]))
        #expect(rules.press(.text("p")) == .pause(.rule("alpha"), isPaused: false))
        _ = rules.press(.down)
        #expect(rules.press(.text("p")) == .pause(.rule("beta"), isPaused: true))
        var receivers = Self.view(.receivers)
        #expect(receivers.press(.text("p")) == .pause(.receiver("ops"), isPaused: false))
        _ = receivers.press(.end)
        #expect(receivers.press(.text("p")) == .pause(.receiver("page"), isPaused: true))
        var events = Self.view(.events)
        #expect(events.press(.text("p")) == nil)
        #expect(events.message != nil)
    }

    @Test func `a delivery is retried or dropped only after a yes`() {
        var view = Self.view(.deliveries, Self.look(deliveries: [Self.delivery("d1"), Self.delivery("d2")]))
        _ = view.press(.down)
        #expect(view.press(.text("d")) == nil)
        #expect(view.question?.words == "Drop delivery d2? [y/N]")
        #expect(view.press(.enter) == nil && view.question == nil)
        _ = view.press(.text("r"))
        #expect(view.press(.text("y")) == .apply(.retry, delivery: "d2"))
    }

    @Test func `q leaves the details first, then the command`() {
        var view = Self.view(.rules)
        #expect(view.press(.enter) == .look(.rules, id: "alpha"))
        view.show(TopView.Details("Rule alpha", ["one"]))
        #expect(view.press(.text("q")) == nil && view.details == nil)
        #expect(view.press(.text("q")) == .quit)
    }

    @Test func `rates are computed over the last minute`() {
        var rates = TopRates()
        rates.add(["rule a": 100], at: .zero)
        #expect(rates.perMinute("rule a") == "-")
        rates.add(["rule a": 103], at: .seconds(30))
        #expect(rates.perMinute("rule a") == "6.0")
        for second in stride(from: 60, through: 300, by: 30) { rates.add(["rule a": 163], at: .seconds(second)) }
        #expect(rates.perMinute("rule a") == "0")
        // The counts of a new agent begin at zero.
        rates.add(["rule a": 1], at: .seconds(330))
        #expect(rates.perMinute("rule a") == "0")
    }

    @Test func `the counts of receivers come from the status, however many deliveries were read`() {
        let rows = Self.look(deliveries: [Self.delivery("d1")]).rows(of: .receivers, TopRates())
        #expect(
            rows.map { Array($0.cells.prefix(5)) } == [["ops", "fine", "0", "0", "1200"], ["page", "paused", "3", "0", "0"]])
    }

    @Test(arguments: TopView.Tab.allCases, [(40, 8), (80, 24), (200, 60)])
    func `each view has as many lines as the screen, shortens its sentences and shows the selected row`(
        _ tab: TopView.Tab, _ size: (Int, Int)
    ) {
        let many = (0..<300).map { Self.delivery("delivery-\($0)") }
        var view = Self.view(tab, Self.look(rules: (0..<300).map { "r\($0)" }, deliveries: many))
        for key in [Key.home, .end] {
            _ = view.press(key)
            let page = TopPage(view: view, width: size.0, height: size.1)
            #expect(page.lines.count == size.1)
            #expect(page.lines.contains { $0.contains("> ") } || view.rows.isEmpty)
            // Only the sentences at the top are shortened; names stay whole, and the terminal cuts lines that are too wide.
            #expect(page.lines.filter { $0.contains("! ") }.allSatisfy { $0.shownWidth <= max(size.0, 60) })
        }
    }

    @Test func `if no delivery is left to do, the view of deliveries names the command that lists the others`() {
        let page = TopPage(view: Self.view(.deliveries), width: 80, height: 24)
        #expect(page.lines.contains { $0.contains("`bellhop deliveries` lists the others") })
    }

    @Test func `without a terminal the command names the command to use instead`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("bellhop.yaml", "version: 1\n")
        let ended = try await Program(["top"], in: folder.path).end()
        #expect(ended.code == 64)
        #expect(ended.errors.contains("`bellhop status` prints the same once"))
    }

    @Test func `a signal restores the terminal`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("bellhop.yaml", "version: 1\n")
        try folder.write("rules/a.yaml", "rule: a\non: task_created\ndo: [{log: x}]\n")
        #expect(try await Program(["run", "--once"], in: folder.path).end().code == 0)
        let terminal = try PseudoTerminal()
        let screen = try PseudoTerminal()
        let program = try Program(["top"], in: folder.path, terminal: terminal, screen: screen)
        try await eventually("the screen is drawn") { screen.shown.contains("1 sources") }
        #expect(await program.stop().code == 128 + SIGTERM)
        #expect(screen.shown.contains("\u{1B}[?1049l"))
        #expect(terminal.hasEcho)
    }
}
