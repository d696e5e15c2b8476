import BellhopCore
import YAML

/// The agent's absences in a test, and when its actions are expected.
extension TestCaseReader {
    /// `restart: true` or `down: 2h`.
    mutating func absence(_ pair: Mapping.Pair) -> TestCase.Step? {
        let value = self.value(pair.value, as: pair.name == "down" ? TestKeys.down : TestKeys.restart)
        if pair.name == "down" { return value?.asInt.map { .down(.microseconds($0)) } }
        if value == false { report("wrong-value", "`restart` is always `true`", at: pair.value, help: "leave it out otherwise") }
        return value == true ? .restart : nil
    }

    /// The expected actions, each with the time that an `after` before it demands.
    mutating func expectations(_ nodes: [Node]) -> [TestCase.Expectation] {
        var earliest: Duration?
        var expected: [TestCase.Expectation] = []
        for (number, node) in nodes.enumerated() {
            if let pair = node.mapping?.first(where: { $0.name == TestKeys.after.name }) {
                if let other = node.mapping?.first(where: { $0.name != pair.name }) {
                    report(
                        "unknown-key", "`after` and `\(other.name)` are separate entries", at: other.key,
                        help: "begin each with `- `")
                }
                if number == nodes.count - 1 {
                    report("wrong-value", "nothing follows this `after`", at: pair.key, help: "leave it out")
                }
                earliest = after(pair.value, earliest) ?? earliest
            } else if var one = expectation(node) {
                one.earliest = earliest
                expected.append(one)
            }
        }
        return expected
    }

    private mutating func after(_ node: Node, _ before: Duration?) -> Duration? {
        guard let time = value(node, as: TestKeys.after)?.asInt else { return nil }
        let span = Duration.microseconds(time)
        if let before, span <= before {
            report(
                "time-goes-on", "the entries before this one are expected after \(DurationText.format(before))", at: node,
                help: "`after` counts from the test's begin")
        }
        return span
    }
}
