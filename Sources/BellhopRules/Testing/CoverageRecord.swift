import BellhopCore
import CEL
import Synchronization

enum ExpressionPurpose: Sendable {
    case routing
    /// Tests: expressions keep their source, to explain their values.
    case explaining
    /// Tests whose coverage is measured: expressions also count their results.
    case measuring(CoverageRecord)

    var keepsSources: Bool { if case .routing = self { false } else { true } }

    var coverage: CoverageRecord? { if case .measuring(let record) = self { record } else { nil } }
}

/// Which parts of the rules tests cover: filled while rules are compiled and tests run, then read as a ``RuleCoverage``.
///
/// A class with a mutex, because the expressions of all compiled rules count in it.
public final class CoverageRecord: Sendable {
    /// A place in a file that tests can cover; the same place may be compiled several times, for several test files.
    private struct Key: Hashable {
        var place: Diagnostic.Place
        var what: String
    }

    private struct Entry {
        var point: RuleCoverage.Point
        var evidence: Evidence
    }

    /// How to find out whether a point is covered.
    private enum Evidence {
        case decision(Tally, Node)
        case value(Tally, Node)
        /// The name of a rule or a step among those that ran.
        case run(String)
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var tallies: [Key: Tally] = [:]
        /// The rules and steps that ran.
        var ran: Set<String> = []
    }

    private let state = Mutex(State())

    public init() {}

    /// Adds the points of an expression. Returns what counts its parts.
    ///
    /// - Parameters:
    ///   - what: the expression's name in messages: `` `when` ``.
    ///   - place: gives the place of a part of the expression.
    func tally(
        of expression: CEL.Expression, _ what: String, isCondition: Bool, place: (Range<Int>) -> Diagnostic.Place
    ) -> Tally {
        let whole = Key(place: place(expression.root.range), what: what)
        let decisions = expression.decisions
        return state.withLock { state in
            if let tally = state.tallies[whole] { return tally }
            let tally = Tally()
            state.tallies[whole] = tally
            for node in decisions {
                let text = expression.text(of: node)
                let point = RuleCoverage.Point(place: place(node.range), kind: .condition, text: "\(what): \(text)")
                state.entries[Key(place: place(node.range), what: text)] = Entry(
                    point: point, evidence: .decision(tally, node))
            }
            // If the value decides something, the count of that decision also shows that it was evaluated.
            if !isCondition, decisions.isEmpty {
                let point = RuleCoverage.Point(place: whole.place, kind: .template, text: "\(what): \(expression.text)")
                state.entries[whole] = Entry(point: point, evidence: .value(tally, expression.root))
            }
            return tally
        }
    }

    func add(rule: String, at place: Diagnostic.Place) {
        add(.init(place: place, kind: .rule, text: "rule \(rule)"), Self.name(place.file, rule))
    }

    func add(step: StepPath, _ words: String, of rule: String, at place: Diagnostic.Place) {
        add(.init(place: place, kind: .step, text: words), Self.name(place.file, rule, step))
    }

    /// Notes that a step of a rule made a delivery.
    func note(_ step: StepPath, of rule: String, in file: String) {
        state.withLock { _ = ($0.ran.insert(Self.name(file, rule)), $0.ran.insert(Self.name(file, rule, step))) }
    }

    private func add(_ point: RuleCoverage.Point, _ name: String) {
        state.withLock { state in
            state.entries[Key(place: point.place, what: name)] = Entry(point: point, evidence: .run(name))
        }
    }

    private static func name(_ file: String, _ rule: String, _ step: StepPath? = nil) -> String {
        [file, rule, step?.text ?? ""].joined(separator: "\u{0}")
    }

    /// The coverage so far.
    public var coverage: RuleCoverage {
        state.withLock { state in
            RuleCoverage(
                state.entries.values.map { entry in
                    var point = entry.point
                    point.missing = Self.missing(entry.evidence, state.ran)
                    return point
                })
        }
    }

    private static func missing(_ evidence: Evidence, _ ran: Set<String>) -> RuleCoverage.Missing? {
        switch evidence {
        case .run(let name): return ran.contains(name) ? nil : .notMet
        case .value(let tally, let node): return tally.count(of: node).all == 0 ? .notMet : nil
        case .decision(let tally, let node):
            let count = tally.count(of: node)
            if count.all == 0 { return .notMet }
            return count.yes == 0 ? .neverTrue : count.no == 0 ? .neverFalse : nil
        }
    }
}
