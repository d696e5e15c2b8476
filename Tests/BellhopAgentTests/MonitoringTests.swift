import BellhopCore
import BellhopTelemetry
import Foundation
import Testing

@Suite struct `The shipped dashboard and alerts` {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: ".packaging/monitoring")

    /// A metric in an expression, with the labels and values that it is selected or grouped by.
    private struct Use: Hashable {
        var metric: String
        var label: String?
        var value: String?
    }

    private func expressions() throws -> [String] {
        // Joins expressions that are folded over several lines.
        let alerts = try String(contentsOf: Self.folder.appending(path: "alerts.yaml"), encoding: .utf8)
            .replacing(">-\n          ", with: "").replacing("\n          or ", with: " or ")
        let dashboard = try JSON.parse(Array(Data(contentsOf: Self.folder.appending(path: "dashboard.json"))))
        let panels = dashboard["panels"]?.asArray?.flatMap { $0["targets"]?.asArray ?? [] } ?? []
        let shown = panels.compactMap { $0["expr"]?.asString }
        let used = alerts.split(separator: "\n").compactMap { $0.split(separator: "expr: ").dropFirst().first.map(String.init) }
        #expect(shown.count >= 15 && used.count >= 10)
        return shown + used
    }

    private static func uses(in expression: String) -> [Use] {
        let metric = /\b((?:bellhop|process)_[a-z_]+)(?:\{([^}]*)\})?/
        var uses: [Use] = []
        for match in expression.matches(of: metric) {
            let name = String(match.1)
            uses.append(Use(metric: name))
            for matcher in (match.2 ?? "").split(separator: ",") {
                guard let parts = matcher.wholeMatch(of: /\s*([a-z_]+)(=~|=|!=)"([^"]*)"\s*/) else { continue }
                for value in parts.3.split(separator: "|") {
                    uses.append(Use(metric: name, label: String(parts.1), value: String(value)))
                }
            }
            for group in expression.matches(of: /by \(([a-z_, ]+)\)/) {
                for label in group.1.split(separator: ",") {
                    uses.append(Use(metric: name, label: label.trimmingCharacters(in: .whitespaces)))
                }
            }
        }
        return uses
    }

    /// Labels that Prometheus adds.
    private static let ofScraping: Set<String> = ["job", "instance", "le"]

    @Test func `the dashboard and the alerts name only metrics, labels and values that exist`() throws {
        let samples = Dictionary(
            Instrument.all.flatMap { instrument in instrument.sampleNames.map { ($0, instrument) } }, uniquingKeysWith: { $1 })
        for expression in try expressions() {
            let uses = Self.uses(in: expression)
            #expect(!uses.isEmpty || expression.contains("up{"), "\(expression)")
            for use in uses {
                let instrument = try #require(samples[use.metric], "\(use.metric)")
                guard let name = use.label, !Self.ofScraping.contains(name) else { continue }
                let label = try #require(instrument.labels.first { $0.name == name }, "\(use.metric) has no label \(name)")
                if let value = use.value, let values = label.values { #expect(values.contains(value), "\(use)") }
            }
        }
    }

    @Test func `the search finds the metrics, labels and values in an expression`() {
        let uses = Self.uses(in: #"sum by (result) (rate(bellhop_polls_total{job="$job",result=~"dead|held"}[5m]))"#)
        #expect(
            Set(uses) == [
                Use(metric: "bellhop_polls_total"), Use(metric: "bellhop_polls_total", label: "job", value: "$job"),
                Use(metric: "bellhop_polls_total", label: "result", value: "dead"),
                Use(metric: "bellhop_polls_total", label: "result", value: "held"),
                Use(metric: "bellhop_polls_total", label: "result"),
            ])
    }

    @Test func `the names of metrics follow the conventions of Prometheus`() {
        #expect(Set(Instrument.all.map(\.name)).count == Instrument.all.count)
        for instrument in Instrument.all {
            #expect(instrument.name.wholeMatch(of: /(bellhop|process)_[a-z_]+/) != nil)
            if case .counter = instrument.kind { #expect(instrument.name.hasSuffix("_total")) }
            if let unit = instrument.unit { #expect(instrument.family.hasSuffix(unit.rawValue), "\(instrument.name)") }
        }
    }
}
