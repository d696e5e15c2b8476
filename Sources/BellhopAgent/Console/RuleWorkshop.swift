public import BellhopCore
import BellhopFiles
public import BellhopRules
import Crypto

/// Tries changed rules while others are in force: checks their text, runs their tests, back-tests them with stored events. Only
/// ``save(_:over:)`` and ``make(_:)`` change anything.
public struct RuleWorkshop: Sendable {
    let inquirer: Inquirer
    /// Where rule files are read from.
    public let places: RulePlaces
    private let book: @Sendable () -> RuleBook?
    private let file: @Sendable (String) -> [UInt8]?
    private let history: @Sendable () throws(StoreError) -> any Store

    /// The largest text of a rule file, in bytes.
    public static let largest = 256 << 10
    /// The most files of tests that are run for one file.
    private static let maxTests = 50

    /// - Parameters:
    ///   - places: where rule files are read from.
    ///   - book: the rules in force.
    ///   - file: the bytes of a file that has rules in force, as they are now.
    ///   - history: opens the store for reading, beside the agent's own connections.
    public init(
        _ inquirer: Inquirer, places: RulePlaces, book: @escaping @Sendable () -> RuleBook?,
        file: @escaping @Sendable (String) -> [UInt8]?, history: @escaping @Sendable () throws(StoreError) -> any Store
    ) {
        self.inquirer = inquirer
        self.places = places
        self.book = book
        self.file = file
        self.history = history
    }

    /// Identifies a text, so that a later change of it is noticed.
    public static func tag(of bytes: [UInt8]) -> String { Hexadecimal.text(SHA256.hash(data: bytes).prefix(16)) }

    /// Checks the text of a file in place of the one in force. Returns its errors, or without errors its warnings.
    public func check(_ edited: RuleFile) async throws(WorkshopError) -> Diagnostics {
        let book = try inForce()
        let files = try await files(with: [edited])
        do throws(Diagnostics) {
            let warnings = try book.loading(files).warnings
            return Diagnostics(warnings.filter { $0.place?.file == edited.path })
        } catch {
            return error
        }
    }

    /// Runs the test files beside a rule file with a changed text of it.
    public func test(_ edited: RuleFile) async throws(WorkshopError) -> [RuleTestResult] {
        let book = try inForce()
        let files = try await files(with: [edited])
        return try rethrowing(as: WorkshopError.refused) { () throws(Diagnostics) in
            try book.test(Self.tests(of: edited.path), rules: files) { RuleFinder.read($0) }
        }
    }

    /// The test files beside a rule file that have its name, or name it.
    private static func tests(of path: String) -> [RuleFile] {
        let name = PathText.name(of: path)
        let own = RuleFinder.testPaths(of: path)
        let names = (Folder.names(in: PathText.folder(of: path)) ?? []).filter { RuleFinder.isTest($0) }
        let found = names.compactMap { RuleFinder.read(PathText.prefix(of: path) + $0) }
        return Array(
            found.filter { own.contains($0.path) || String(decoding: $0.bytes, as: UTF8.self).contains(name) }.prefix(maxTests))
    }

    /// The files in force. Edited files replace those of the same path, or are added.
    private func files(with edited: [RuleFile]) async throws(WorkshopError) -> [RuleFile] {
        let book = try inForce()
        let noted = try await rethrowing(as: WorkshopError.store) { () async throws(StoreError) in
            try await RulesInForce(in: inquirer.store)?.files ?? []
        }
        var files = book.rules.map(\.file).unique().map { path in
            RuleFile(path: path, bytes: noted.first { $0.path == path }?.bytes ?? file(path) ?? [])
        }
        for file in edited {
            if let place = files.firstIndex(where: { $0.path == file.path }) { files[place] = file } else { files.append(file) }
        }
        return files
    }

    func inForce() throws(WorkshopError) -> RuleBook {
        guard let book = book() else { throw .notReady }
        return book
    }

    // Back-tests.

    /// Loads the rules of a back-test.
    public func prepare(_ request: BackTestRequest) async throws(WorkshopError) -> BackTestPlan {
        let present = try inForce()
        let scope = request.files.isEmpty ? .beside : request.scope
        let files = scope == .beside ? try await files(with: request.files) : request.files
        let coverage = request.measuresCoverage ? CoverageRecord() : nil
        let book = try rethrowing(as: WorkshopError.refused) { () throws(Diagnostics) in
            request.files.isEmpty && coverage == nil ? present : try present.loading(files, coverage: coverage)
        }
        if scope != .beside, book.rules.isEmpty { throw .noRules }
        for name in request.rules where !book.contains(name) { throw .unknownRule(name, among: book.rules.map(\.name)) }
        var counted = request.rules
        if counted.isEmpty {
            let paths = Set(request.files.map(\.path))
            switch scope {
            case .beside: counted = (book.rules + present.rules).filter { paths.contains($0.file) }.map(\.name)
            case .alone: counted = book.rules.map(\.name)
            case .all: break
            }
        }
        return BackTestPlan(
            book: book, against: request.comparesWithForce ? present : nil, counting: counted.isEmpty ? nil : Set(counted),
            span: request.span, coverage: coverage, areWhole: scope != .alone)
    }

    /// Runs a back-test.
    /// - Parameter progress: called with the share of the events that is done, from 0 to 1.
    public func run(_ plan: BackTestPlan, progress: (Double) -> Void) async throws(StoreError) -> BackTestReport {
        let store = try history()
        let now = inquirer.clock.now
        let report: BackTestReport
        do throws(StoreError) {
            report = try await BackTestRun.report(
                store, plan.book, against: plan.against, counting: plan.counting, from: now - plan.span, to: now,
                coverage: plan.coverage, areWhole: plan.areWhole, progress: progress)
        } catch {
            try? await store.close()  // the first error is the one to report
            throw error
        }
        try await store.close()
        return report
    }

    // Saving.

    /// Replaces a file that has rules in force, if it still has the text that was read; the agent then loads it. A row of the audit
    /// names the person.
    /// - Parameter tag: the tag of the text when it was read.
    public func save(_ edited: RuleFile, over tag: String) async throws(WorkshopError) {
        guard try inForce().rules.contains(where: { $0.file == edited.path }) else { throw .unknownFile(edited.path) }
        let problems = try await check(edited)
        if problems.hasErrors { throw .refused(problems) }
        guard let bytes = file(edited.path), Self.tag(of: bytes) == tag else { throw .changed }
        if bytes == edited.bytes { return }
        try await note(
            .editRules, ["file": .string(edited.path), "before": .string(tag), "after": .string(Self.tag(of: edited.bytes))])
        let isReplaced = try rethrowing(as: { WorkshopError.unwritable($0.message) }) { () throws(PrivateFile.FileError) in
            try SharedFile.replace(edited.path, with: edited.bytes) { Self.tag(of: $0) == tag }
        }
        if !isReplaced { throw .changed }
    }

    /// Makes a new file of rules at a path where the agent reads rules and no file exists; the agent then loads it. A row of the audit names
    /// the person.
    public func make(_ new: RuleFile) async throws(WorkshopError) {
        try requirePlace(for: new.path)
        let (present, files) = (try inForce(), try await files(with: [new]))
        let loaded: RuleBook
        do throws(Diagnostics) { loaded = try present.loading(files) } catch { throw .refused(error) }
        guard loaded.rules.contains(where: { $0.file == new.path }) else {
            let place = Diagnostic.Place(file: new.path, line: 1, column: 1)
            throw .refused(Diagnostics([Diagnostic(code: "no-rules", "this file contains no rules", at: place)]))
        }
        try await note(.addRules, ["file": .string(new.path), "after": .string(Self.tag(of: new.bytes))])
        let isMade: Bool
        do throws(PrivateFile.FileError) { isMade = try SharedFile.make(new.path, with: new.bytes) } catch {
            throw .unwritable(error.message)
        }
        if !isMade { throw .exists(new.path) }
    }

    /// - Throws: ``WorkshopError/misplaced(_:)`` or ``WorkshopError/exists(_:)`` if no new file can have this path.
    public func requirePlace(for path: String) throws(WorkshopError) {
        if let refusal = places.refusal(of: path) { throw .misplaced(refusal) }
        if SharedFile.exists(path) { throw .exists(path) }
    }

    private func note(_ act: AuditAct, _ facts: JSON.Object) async throws(WorkshopError) {
        try await rethrowing(as: WorkshopError.store) { () async throws(StoreError) in
            try await inquirer.store.setNote(
                "console/edited", to: ["file": facts["file"] ?? .null], by: act, facts, at: inquirer.clock.now)
        }
    }
}

/// Why a change or trial of rules failed.
public enum WorkshopError: Error, Sendable, Hashable {
    /// No rules are in force yet.
    case notReady
    case unknownRule(String, among: [String])
    /// The files have no rules.
    case noRules
    /// No rule in force is in this file.
    case unknownFile(String)
    /// The rules have mistakes.
    case refused(Diagnostics)
    /// The file was changed after it was read.
    case changed
    /// No new file may have this path; the sentence says why.
    case misplaced(String)
    /// There is such a file already.
    case exists(String)
    /// The file cannot be written; the sentence says why.
    case unwritable(String)
    case store(StoreError)
}

public struct BackTestRequest: Sendable, Hashable {
    /// Which rules `files` replace, and which rules count.
    public enum Scope: String, Sendable, CaseIterable {
        /// Replace the rules in force in files with the same paths; the other rules in force run too.
        case beside
        /// Replace all rules in force; only the rules of `files` count.
        case alone
        /// Replace all rules in force; all rules count, also those in force that `files` lack.
        case all
    }

    public var files: [RuleFile]
    public var scope: Scope
    /// The rules that are counted. If empty: the rules of `files`, or all rules without files.
    public var rules: [String]
    /// How far back.
    public var span: Duration
    /// Whether it compares with the rules in force.
    public var comparesWithForce: Bool
    public var measuresCoverage: Bool

    public init(
        files: [RuleFile] = [], scope: Scope = .beside, rules: [String] = [], span: Duration, comparesWithForce: Bool = false,
        measuresCoverage: Bool = false
    ) {
        self.files = files
        self.scope = scope
        self.rules = rules
        self.span = span
        self.comparesWithForce = comparesWithForce
        self.measuresCoverage = measuresCoverage
    }
}

/// A back-test whose rules are loaded.
public struct BackTestPlan: Sendable {
    let book: RuleBook
    let against: RuleBook?
    let counting: Set<String>?
    let span: Duration
    let coverage: CoverageRecord?
    /// Whether the rules are all that would run.
    let areWhole: Bool

    /// Which parts of the counted rules' files ran, after the back-test; nil if that was not measured.
    public var measuredCoverage: RuleCoverage? {
        guard var coverage = coverage?.coverage else { return nil }
        if let counting {
            let paths = Set(book.rules.filter { counting.contains($0.name) }.map(\.file))
            coverage.files.removeAll { !paths.contains($0.path) }
        }
        return coverage
    }
}
