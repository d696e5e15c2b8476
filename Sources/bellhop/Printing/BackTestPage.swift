import BellhopAgent
import BellhopCore
import BellhopRules

/// The report of a back-test, for people.
struct BackTestPage {
    private let report: BackTestReport
    private let link: StoreLink
    /// The rules that are shown.
    private let rules: [String]

    /// How many lines of a list are shown.
    private static let most = 10
    /// The most characters of a sample; `bellhop render` shows all of a message.
    private static let mostOfSample = 2000

    init(_ report: BackTestReport, link: StoreLink, rules: [String]) {
        (self.report, self.link, self.rules) = (report, link, rules)
    }

    func print() {
        let (since, until) = (time(report.since), time(report.until))
        Console.data(Paint.bold("\(report.events) event\(report.events == 1 ? "" : "s") from \(since) to \(until)"))
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
                Console.data("  \(gap.withLocalTimes(in: link.zone).visible)".wrapped(to: Screen.dataWidth, indent: 2))
            }
        }
    }

    private func printRules() {
        Console.data("")
        var table = Table([
            .init("RULE"), .init("RAN"), .init("DELIVERIES", isText: true), .init("STOPPED OR WAITED", rank: 1, isText: true),
        ])
        for name in rules {
            let rule = report.tally.rules[name] ?? BackTestTally.OfRule()
            table.add([
                name.visible, "\(rule.runs)", words(rule.deliveries.map { ($0.key, $0.value) }),
                words(rule.verdicts.map { ($0.key.rawValue, $0.value) }),
            ])
        }
        for line in table.lines(width: Screen.dataWidth) { Console.data(line) }
        for name in rules {
            guard let error = report.tally.rules[name]?.lastError else { continue }
            Console.data("\(Paint.red("error:")) rule \(name.visible): \(error.singleLine.visible)")
        }
    }

    private func printSamples() {
        for name in rules {
            for delivery in report.tally.rules[name]?.samples.suffix(1) ?? [] {
                let json = delivery.rendered(to: link.connections[delivery.id.receiver])
                let content = json["message"]?["text"]?.asString ?? (json["arguments"] ?? .null).text(.pretty)
                let number = delivery.task.map { " about \($0.number)" } ?? ""
                Console.data("")
                Console.data(
                    Paint.bold("The latest of \(name.visible)")
                        + ", \(delivery.action.visible) to \(delivery.id.receiver.visible)\(number.visible), \(time(delivery.createdAt)):"
                )
                for line in content.cut(to: Self.mostOfSample).split(separator: "\n", omittingEmptySubsequences: false) {
                    Console.data("  " + String(line).visible)
                }
            }
        }
    }

    private func print(_ difference: DeliveryDifference) {
        Console.data("")
        if difference.isEmpty { return Console.data("The same deliveries as with the other rules: \(difference.same).") }
        Console.data(Paint.bold("Compared with the other rules") + " (deliveries that are the same: \(difference.same)):")
        for line in difference.lines(zone: link.zone) {
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
        counts.sorted { ($1.1, $0.0) < ($0.1, $1.0) }.map { "\($0.1) \($0.0.replacing("_", with: " "))" }.joined(separator: ", ")
    }

    private func time(_ moment: Timestamp) -> String { link.zone.dateAndClock(moment) }
}
