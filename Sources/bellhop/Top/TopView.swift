import BellhopAgent
import BellhopCore

/// The state of `bellhop top`: the agent's data and the present view. Keys change it; it sends no requests.
struct TopView {
    enum Tab: Int, CaseIterable {
        case sources, rules, receivers, deliveries, waiting, events
    }

    /// An action of a key, other than a change of the view.
    enum Act: Hashable {
        case quit
        /// Shows the details of one row.
        case look(Tab, id: String)
        /// Pauses it, or resumes it if it is paused.
        case pause(PauseTarget, isPaused: Bool)
        case apply(DeliveryCommand, delivery: String)
    }

    /// The details of one row, shown instead of the table.
    struct Details {
        var title: String
        var lines: [String]
        fileprivate(set) var first = 0

        init(_ title: String, _ lines: [String]) { (self.title, self.lines) = (title, lines) }
    }

    private(set) var tab = Tab.sources
    private(set) var look: TopLook?
    private(set) var rates = TopRates()
    private(set) var details: Details?
    /// The act that waits for a confirmation, and its question.
    private(set) var question: (act: Act, words: String)?
    /// The result of the latest act.
    private(set) var message: String?
    /// The id of the selected row of each tab, so that it stays selected when other rows come and go.
    private var selections: [Tab: String] = [:]
    /// How many rows fit on the screen.
    var room = 10

    mutating func show(_ look: TopLook, at time: Duration) {
        self.look = look
        rates.add(look.counts, at: time)
    }

    mutating func show(_ details: Details) { self.details = details }

    mutating func say(_ message: String?) { self.message = message }

    var rows: [TopLook.Row] { look?.rows(of: tab, rates) ?? [] }

    /// The index of the selected row; nil without rows.
    var selected: Int? {
        let rows = rows
        if rows.isEmpty { return nil }
        return selections[tab].flatMap { id in rows.firstIndex { $0.id == id } } ?? 0
    }

    /// Handles a key. Returns its act; nil if it only changes the view.
    mutating func press(_ key: Key) -> Act? {
        message = nil
        if let question {
            self.question = nil
            return key == .text("y") ? question.act : nil
        }
        switch key {
        case .interrupt, .endOfInput: return .quit
        case .text("q"):
            guard details != nil else { return .quit }
            details = nil
        default:
            if details != nil { scroll(key) } else { return act(key) }
        }
        return nil
    }

    private mutating func scroll(_ key: Key) {
        guard var details else { return }
        let last = max(details.lines.count - room, 0)
        switch key {
        case .up, .text("k"): details.first -= 1
        case .down, .text("j"): details.first += 1
        case .text(" "): details.first += room
        case .home: details.first = 0
        case .end: details.first = last
        case .left, .backspace, .enter, .escape: return self.details = nil
        default: break
        }
        details.first = min(max(details.first, 0), last)
        self.details = details
    }

    private mutating func act(_ key: Key) -> Act? {
        let tabs = Tab.allCases
        switch key {
        case .tab, .right: tab = tabs[(tab.rawValue + 1) % tabs.count]
        case .left: tab = tabs[(tab.rawValue + tabs.count - 1) % tabs.count]
        case .text(let text) where Int(text).map { tabs.indices.contains($0 - 1) } ?? false: tab = tabs[(Int(text) ?? 1) - 1]
        case .up, .text("k"): select { $0 - 1 }
        case .down, .text("j"): select { $0 + 1 }
        case .text(" "): select { [room] in $0 + room }
        case .home: select { _ in 0 }
        case .end: select { _ in .max }
        case .enter: return selected.map { .look(tab, id: rows[$0].id) }
        case .text("p"): return pause()
        case .text("r"): decide(.retry)
        case .text("d"): decide(.drop)
        default: break
        }
        return nil
    }

    private mutating func select(_ move: (Int) -> Int) {
        guard let selected else { return }
        let rows = rows
        selections[tab] = rows[min(max(move(selected), 0), rows.count - 1)].id
    }

    private mutating func pause() -> Act? {
        guard tab == .rules || tab == .receivers else {
            message = "Only a rule or a receiver can be paused."
            return nil
        }
        guard let selected else { return nil }
        let row = rows[selected]
        return .pause(tab == .rules ? .rule(row.id) : .receiver(row.id), isPaused: row.isPaused)
    }

    private mutating func decide(_ command: DeliveryCommand) {
        guard tab == .deliveries, let selected else {
            message = "Only a delivery can be retried or dropped."
            return
        }
        let id = rows[selected].id
        let verb = command == .retry ? "Retry" : "Drop"
        question = (.apply(command, delivery: id), "\(verb) delivery \(id.prefix(12))? [y/N]")
    }
}
