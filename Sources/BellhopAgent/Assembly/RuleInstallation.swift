import BellhopConnectors
import BellhopCore
import BellhopEngine
import BellhopRules
import Synchronization

/// Loads the rules of a configuration and puts them in force, one load at a time, so that the rules read last are in force.
///
/// A class over a mutex, because both the reloader and the sources (after they have read their fields) load rules.
final class RuleInstallation: Sendable {
    private let configuration: Configuration
    private let connectors: Connectors
    private let shelf: RuleShelf
    private let context: EngineContext
    private let gate = FIFOGate()
    private let latestRefusal = Mutex<Diagnostics?>(nil)

    init(_ configuration: Configuration, _ connectors: Connectors, _ shelf: RuleShelf, _ context: EngineContext) {
        (self.configuration, self.connectors, self.shelf, self.context) = (configuration, connectors, shelf, context)
    }

    /// The errors of the last load; nil if its rules are in force.
    var refusal: Diagnostics? { latestRefusal.withLock { $0 } }

    /// The fingerprint of all files that a load reads: these rules, and the holidays of the calendars.
    func fingerprint(_ found: RuleFinder.Found) -> Fingerprint {
        var builder = FingerprintBuilder()
        builder.add(found.fingerprint)
        builder.add(CalendarEntry.fingerprint(of: configuration.calendars))
        return builder.fingerprint
    }

    /// Loads the current rule files and puts them in force; on errors, the old rules stay and a signal reports the errors.
    /// - Parameter isForFields: true if no rule changed, but a source has read its fields. Then only errors and their end are
    ///   reported.
    /// - Returns: false if the store failed, so that another try may succeed.
    @discardableResult
    func reload(isForFields: Bool = false) async -> Bool {
        await gate.enterUncancelled()
        defer { gate.leave() }
        do throws(AssemblyError) {
            _ = try await installInGate(reportsLoad: !isForFields || refusal != nil)
            latestRefusal.withLock { $0 = nil }
        } catch {
            switch error {
            case .diagnostics(let problems):
                latestRefusal.withLock { $0 = problems }
                context.signals.emit(.rulesRefused(problems: problems.errorCount))
                for problem in problems.all where problem.severity == .error { context.signals.emit(.ruleRefused(problem)) }
            case .store(let error):
                context.signals.emit(.storeFailed(doing: "registering rules", error))
                return false
            }
        }
        return true
    }

    /// Installs the rules in force again, after a person paused or resumed one.
    func applyPauses() async throws(StoreError) { try await shelf.installAgain(in: context) }

    /// Loads the current rule files and puts them in force; if they have errors, the old rules stay.
    func install() async throws(AssemblyError) -> RuleLoading.Loaded {
        await gate.enterUncancelled()
        defer { gate.leave() }
        return try await installInGate(reportsLoad: true)
    }

    private func installInGate(reportsLoad: Bool) async throws(AssemblyError) -> RuleLoading.Loaded {
        let loaded = try await rethrowing(as: AssemblyError.diagnostics) { () async throws(Diagnostics) in
            try await RuleLoading.book(configuration, sources: connectors.sources)
        }
        if let before = shelf.book {
            let losses = Self.losses(of: before, loaded)
            if losses.hasErrors { throw .diagnostics(losses) }
        }
        try await rethrowing(as: AssemblyError.store) { () async throws(StoreError) in
            try await shelf.install(loaded.book, in: context)
            try await RulesInForce(configuration, loaded.found.rules, at: context.clock.now).keep(in: context.store)
        }
        if reportsLoad {
            context.signals.emit(.rulesLoaded(count: loaded.book.rules.count, warnings: loaded.book.warnings.count))
        }
        return loaded
    }

    /// Errors for rules that would disappear by accident: a folder was moved away for a moment, an editor has just emptied a file, a copy
    /// is truncated. Deleting a file counts as intended, and so does moving a rule to another file.
    private static func losses(of before: RuleBook, _ loaded: RuleLoading.Loaded) -> Diagnostics {
        var found = Diagnostics()
        if loaded.book.rules.isEmpty, !before.rules.isEmpty {
            found.report(
                Diagnostic(
                    code: "no-rules", "there are no rules now; before, there were \(before.rules.count)",
                    help: "to run without rules, stop the agent and start it again"))
            return found
        }
        let left = Set(loaded.book.rules.map(\.file))
        var rules: [String: [String]] = [:]
        for rule in before.rules where !left.contains(rule.file) && !loaded.book.contains(rule.name) {
            rules[rule.file, default: []].append(rule.name)
        }
        for file in loaded.found.rules {
            guard let names = rules[file.path] else { continue }
            found.report(
                Diagnostic(
                    code: "no-rules", "this file has no rules any more; it had \(names.listed)",
                    at: Diagnostic.Place(file: file.path, line: 1, column: 1), help: "to end its rules, delete the file"))
        }
        return found
    }
}
