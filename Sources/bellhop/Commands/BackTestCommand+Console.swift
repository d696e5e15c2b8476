import BellhopAgent
import BellhopCore
import BellhopRules

extension BackTestCommand {
    /// Lets an agent on another machine run the back-test, for its rules in force or for files from here.
    func runRemotely(_ console: ConsoleClient, _ link: StoreLink) async throws(CommandError) {
        let (names, paths) = try await namesAndPaths { () async throws(CommandError) in try await Self.names(console) }
        if paths.isEmpty {
            if against != nil {
                throw CommandError(
                    .usage,
                    "--against in-force needs files of rules to compare: the rules in force there would be compared with themselves."
                )
            }
            if !names.isEmpty { try Self.check(names, among: try await Self.names(console)) }
        }
        let found = RuleFinder.find(paths)
        if found.problems.hasErrors { throw CommandError(found.problems) }
        if !paths.isEmpty, found.rules.isEmpty { throw CommandError(.problem, "There are no rules in \(paths.listed).") }
        let body = body(names, found.rules, isOfFiles: Self.areFiles(paths))
        let json = try await Stopping.cancelledBySignals {
            [meter = ProgressMeter(title: "Reading events")] () async throws(CommandError) -> JSON in
            let waiting = ProgressMeter(title: "Waiting for other back-tests there")
            var waits = false
            defer { meter.end() }
            return try await console.backTest(body) { progress in
                switch progress {
                case .waiting:
                    waits = true
                    waiting.show(0)
                case .running(let part):
                    if waits { waiting.end() }
                    waits = false
                    meter.show(part)
                }
            }
        }
        guard let report = BackTestReport(json: json) else { throw ConsoleClient.notUnderstood }
        if output.json { Console.json(json) } else { BackTestPage(report, zone: link.zone, rules: names).print() }
        // The page shows all rules and few deliveries, so only the limit of rules matters to it.
        if json["cut"] == true, output.json || report.tally.rules.count >= BackTestReport.maxSent {
            Console.note(
                "A console sends at most \(BackTestReport.maxSent) rules and deliveries of a kind: `count` and `counts` of --json count all deliveries."
            )
        }
    }

    private static func names(_ console: ConsoleClient) async throws(CommandError) -> [String] {
        try await console.rules().compactMap { $0["rule"]?.asString }
    }

    private func body(_ names: [String], _ files: [RuleFile], isOfFiles: Bool) -> JSON {
        var body: JSON.Object = ["since": .string(since)]
        if !names.isEmpty { body["rules"] = .array(names.map(JSON.string)) }
        if !files.isEmpty {
            body["files"] = .array(
                files.map { ["file": .string($0.path), "text": .string(String(decoding: $0.bytes, as: UTF8.self))] })
            let scope: BackTestRequest.Scope = isOfFiles ? .alone : .all
            body["scope"] = .string(scope.rawValue)
        }
        if let against { body["against"] = .string(against) }
        return .object(body)
    }
}
