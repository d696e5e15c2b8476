import BellhopCore
import CEL

/// The `quiet` of a rule or a connection, compiled.
struct Quiet: Sendable {
    var time: QuietTime
    var except: RuleExpression?
}

/// Decides which messages of a batch quiet times keep back.
struct QuietFilter {
    /// What happens to a message.
    enum Verdict: Hashable {
        case hold(until: Timestamp)
        /// `by` names the quiet time of a rule or a connection, as messages show it.
        case drop(by: String)
    }

    private let book: RuleBook
    private let now: Timestamp
    /// The ends of quiet times that were already computed. They do not change, because a batch is decided at one moment.
    private var ends: [Owner: Timestamp?] = [:]

    private typealias Owner = RuleCalendar.Quiet.Owner

    init(_ book: RuleBook, at now: Timestamp) { (self.book, self.now) = (book, now) }

    /// How a message of this rule to this receiver is kept back; nil if it may be sent.
    ///
    /// - Parameter until: the end of the quiet time that held it so far. The rule's own quiet time
    ///   applies again only if it has ended since.
    /// - Parameter failed: takes the error of an `except` that fails. It then counts as false.
    mutating func verdict(
        on rule: Rule?, to receiver: String, _ activation: Activation, heldUntil until: Timestamp? = nil, failed: (String) -> Void
    ) -> Verdict? {
        var verdict: Verdict?
        for (owner, quiet) in [
            rule.flatMap { rule in rule.quiet.map { (Owner.rule(rule.name), $0) } },
            book.quiet[receiver].map { (Owner.connection(receiver), $0) },
        ].compactMap(\.self) {
            guard let end = end(of: quiet, owner) else { continue }
            if case .rule = owner, let until, let first = quiet.time.end(at: until), now < first { continue }
            if let except = quiet.except {
                switch except.program.verdict(activation) {
                case .yes: continue
                case .no, .unknown: break
                case .failed(let error): failed("`except` of the quiet time of \(owner.words) failed: \(error.message)")
                }
            }
            switch (quiet.time.then, verdict) {
            case (.drop, _): return .drop(by: owner.words)
            case (.hold, .hold(let other)?): verdict = .hold(until: max(other, end))
            case (.hold, _): verdict = .hold(until: end)
            }
        }
        return verdict
    }

    private mutating func end(of quiet: Quiet, _ owner: Owner) -> Timestamp? {
        if let end = ends[owner] { return end }
        let end = quiet.time.end(at: now)
        ends[owner] = .some(end)
        return end
    }
}

extension RuleCalendar.Quiet.Owner {
    fileprivate var words: String {
        switch self {
        case .rule(let name): "rule `\(name)`"
        case .connection(let name): "connection `\(name)`"
        }
    }
}

extension Failure {
    /// Why a message is dropped that was made in the quiet time of a rule or a connection.
    static func quiet(_ owner: String) -> Failure {
        Failure(.quiet, .giveUp, "It was made in the quiet time of \(owner), which drops messages.")
    }
}

extension Delivery {
    /// The facts from which it was made, if a quiet time kept it back.
    var keptBack: KeptBack? { if case .quiet(let kept) = initial { kept } else { nil } }

    /// Whether a quiet time holds or drops it.
    var isQuiet: Bool {
        switch initial {
        case .quiet, .dropped: true
        case .available, .shadow, .done, .silenced, .dead: false
        }
    }
}
