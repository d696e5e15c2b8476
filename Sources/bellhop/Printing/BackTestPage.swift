import BellhopAgent
import BellhopCore
import BellhopRules

/// The report of a back-test, for people.
struct BackTestPage {
    private let report: BackTestReport
    private let zone: TimeZoneTable
    private let rules: [String]

    /// The most lines of a list.
    private static let most = 10

    /// - Parameter names: the rules to show, in this order; empty for all.
    init(_ report: BackTestReport, zone: TimeZoneTable, rules names: [String]) {
        (self.report, self.zone) = (report, zone)
        rules = names.isEmpty ? report.tally.rules.keys.sorted() : names
    }

    func print() {
        let (since, until) = (time(report.since), time(report.until))
        Console.data(Paint.bold("\(counted(report.events, "event")) from \(since) to \(until)"))
        printRules()
        list("By day", report.tally.days.sorted { $0.key < $1.key })
        list("By receiver", most(report.tally.receivers))
        list("By group", most(report.tally.groups))
        list("Tasks with the most", most(report.tally.tasks).filter { $0.value > 1 })
        printSamples()
        if let difference = report.difference { print(difference) }
        if !report.gaps.isEmpty {
            Console.data("")
            Console.data(Paint.bold("Limits of this result"))
            for gap in report.gaps {
                Console.data("  \(gap.withLocalTimes(in: zone).visible)".wrapped(to: Screen.dataWidth, indent: 2))
            }
        }
    }

    private func printRules() {
        Console.data("")
        var table = Table([
            .init("RULE"), .init("RAN"), .init("DELIVERIES", isText: true), .init("STOPPED OR WAITED", rank: 1, isText: true),
        ])
        for name in rules {
            guard let rule = report.tally.rules[name] else { continue }
            table.add([
                name.visible, "\(rule.runs)", words(rule.deliveries.map { ($0.key.rawValue, $0.value) }),
                words(rule.verdicts.map { ($0.key.rawValue, $0.value) }),
            ])
        }
        table.print()
        for name in rules {
            guard let error = report.tally.rules[name]?.lastError else { continue }
            Console.data("\(Paint.red("error:")) rule \(name.visible): \(error.singleLine.visible)")
        }
    }

    private func printSamples() {
        for name in rules {
            guard let sample = report.samples[name] else { continue }
            let number = sample.task.map { " about \($0)" } ?? ""
            Console.data("")
            Console.data(
                Paint.bold("The latest of \(name.visible)")
                    + ", \(sample.action.visible) to \(sample.receiver.visible)\(number.visible), \(time(sample.time)):"
            )
            for line in sample.text.split(separator: "\n", omittingEmptySubsequences: false) {
                Console.data("  " + String(line).visible)
            }
        }
    }

    private func print(_ difference: DeliveryDifference) {
        Console.data("")
        if difference.isEmpty, difference.same == 0 {
            return Console.data("There is nothing to compare: neither these rules nor the others make a delivery.")
        }
        if difference.isEmpty {
            return Console.data("No difference from the other rules. Deliveries that are the same: \(difference.same).")
        }
        Console.data(Paint.bold("Compared with the other rules") + " (deliveries that are the same: \(difference.same)):")
        for line in difference.lines(zone: zone) {
            let paint: Paint = line.mark == "+" ? .green : line.mark == "-" ? .red : .yellow
            Console.data("  \(paint(line.mark)) \(line.text)")
        }
    }

    private func list(_ title: String, _ counts: [(key: String, value: Int)]) {
        guard !counts.isEmpty else { return }
        Console.data("")
        Console.data(Paint.bold(title))
        let width = counts.map { "\($0.value)".count }.max() ?? 0
        for (name, count) in counts {
            let number = "\(count)"
            Console.data("  \(String(repeating: " ", count: width - number.count))\(number)  \(name.singleLine.visible)")
        }
    }

    private func most(_ counts: [String: Int]) -> [(key: String, value: Int)] {
        Array(counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.most))
    }

    private func words(_ counts: [(String, Int)]) -> String {
        if counts.isEmpty { return "-" }
        return counts.sorted { ($1.1, $0.0) < ($0.1, $1.0) }.map { "\($0.1) \($0.0.replacing("_", with: " "))" }
            .joined(separator: ", ")
    }

    private func time(_ moment: Timestamp) -> String { zone.dateAndClock(moment) }
}
