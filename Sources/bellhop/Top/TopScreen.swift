import BellhopAgent
import BellhopCore
import Glibc

/// Runs `bellhop top` on the terminal: reads keys, polls the agent, and draws.
struct TopScreen {
    private let link: StoreLink
    private let every: Duration
    private var view = TopView()
    private var keys = KeyReader()
    private var feed = EventFeed()
    private let began = ContinuousClock.now

    init(_ link: StoreLink, every: Duration) { (self.link, self.every) = (link, every) }

    /// Returns when the person quits or the terminal was closed.
    /// - Throws: if standard input or output is not a terminal, or the first poll fails.
    mutating func run() async throws(CommandError) {
        guard isatty(STDOUT_FILENO) == 1, let mode = RawTerminal(leaving: { Console.screen(Self.leave) }) else {
            throw CommandError(.usage, "`bellhop top` needs a terminal; `bellhop status` prints the same once.")
        }
        Console.screen(Self.enter)
        defer {
            Console.screen(Self.leave)
            mode.restore()
        }
        try await look()
        var next = ContinuousClock.now + every
        while true {
            draw()
            var key: Key?
            switch mode.read(within: keys.mayBeEscape ? KeyReader.escapeDelay : next - .now) {
            case .byte(let byte):
                key = keys.read(byte)
                if key == nil { continue }
            case .end: return
            case .nothing: key = keys.end()
            }
            if let key {
                guard let act = view.press(key) else { continue }
                if act == .quit { return }
                await perform(act)
            }
            if ContinuousClock.now >= next {
                await attempt { screen async throws(CommandError) in try await screen.look() }
                next = .now + every
            }
        }
    }

    /// Switches to the terminal's alternate screen, without cursor and line wrapping; and back.
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    private static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    private mutating func draw() {
        var (width, height) = (80, 24)
        if let size = Screen.size(of: STDOUT_FILENO), size.columns > 0, size.lines > 0 {
            (width, height) = (max(size.columns, 40), max(size.lines, 8))
        }
        view.room = TopPage(view: view, width: width, height: height).room
        let lines = TopPage(view: view, width: width, height: height).lines
        let text = lines.map { TerminalText.lines($0, keepsColours: Console.dataHasColour) + "\u{1B}[K" }
        Console.screen("\u{1B}[H" + text.joined(separator: "\r\n") + "\u{1B}[J")
    }

    /// Runs an action; its error becomes a message.
    private mutating func attempt(_ act: (inout TopScreen) async throws(CommandError) -> Void) async {
        do throws(CommandError) { try await act(&self) } catch { view.say(error.message ?? "That failed.") }
    }

    private mutating func look() async throws(CommandError) {
        let status = try await link.answer(.status)
        try await feed.read(link)
        var deliveries: [JSON] = []
        for states in [[DeliveryState.dead, .held], [.running, .available, .quiet, .waiting]] {
            let left = TopLook.most - deliveries.count
            guard left > 0 else { break }
            deliveries += try await link.rows(.deliveries(DeliveryQuery(states: states, limit: left)))
        }
        view.show(
            TopLook(
                status: status, deliveries: deliveries, events: feed.newest, seen: feed.seen,
                connections: link.connections.keys.sorted(), zone: link.zone), at: .now - began)
    }

    private mutating func perform(_ act: TopView.Act) async {
        await attempt { screen async throws(CommandError) in
            let link = screen.link
            switch act {
            case .quit: break
            case .look(let tab, let id):
                guard let look = screen.view.look else { return }
                screen.view.show(try await TopDetails(link: link, look: look).details(of: id, in: tab))
                return
            case .pause(let target, let isPaused):
                _ = try await link.answer(isPaused ? .resume(target) : .pause(target, reason: Self.reason))
                let (name, effect) =
                    switch target {
                    case .receiver(let name): (name, "its deliveries wait")
                    case .rule(let name): ("Rule \(name)", "it sees no events")
                    case .writes: ("Writing to tasks", "it waits")
                    }
                screen.view.say(isPaused ? "\(name) is resumed." : "\(name) is paused: \(effect). p resumes it.")
            case .apply(let command, let id):
                let answer = try await link.answer(.apply(command, deliveries: [id]))
                let done = command == .retry ? "will be tried again" : "is dropped"
                screen.view.say(
                    answer["changed"]?.asInt == 1
                        ? "Delivery \(id.prefix(12)) \(done)." : "Delivery \(id.prefix(12)) has already ended.")
            }
            try await screen.look()
        }
    }

    private static let reason = "paused in bellhop top"
}

/// The newest events, extended at each poll.
private struct EventFeed {
    private var after: Int64?
    /// Newest first.
    private(set) var newest: [JSON] = []
    /// How many events of each source came since the first poll.
    private(set) var seen: [String: Int64] = [:]

    /// The most events of one page, and the most pages of one poll.
    private static let (page, pages) = (1000, 10)

    mutating func read(_ link: StoreLink) async throws(CommandError) {
        for _ in 0..<Self.pages {
            var found: [JSON] = []
            let query = EventQuery(after: after, limit: after == nil ? TopLook.most : Self.page)
            let end = try await link.answer(.events(query)) { found.append($0) }
            if after != nil { for event in found { seen[event["source"].textOrEmpty, default: 0] += 1 } }
            newest = Array((found.reversed() + newest).prefix(TopLook.most))
            let isFirst = after == nil
            after = end["end"]?.asInt ?? found.last?["sequence"]?.asInt ?? after ?? 0
            if isFirst || found.count < Self.page { return }
        }
    }
}
