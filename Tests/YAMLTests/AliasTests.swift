import Testing
import YAML

@Suite struct AliasTests {
    @Test func `an alias has the value of its node and its own place`() throws {
        let node = try root("a: &x {b: 1}\nc: *x\n")
        #expect(outline(node) == "{a: {b: 1}, c: {b: 1}}")
        #expect(node["c"]?.range.description == "1:7-1:13")
        #expect(node["c"]?.alias?.description == "2:4-2:6")
        #expect(node["a"]?.alias == nil)
        #expect(node.range.description == "1:1-2:6")
    }

    @Test func `an anchor can be redefined, and ends with its document`() throws {
        #expect(outline(try root("[&a 1, *a, &a 2, *a]")) == "[1, 1, 2, 2]")
        #expect(places("a: &x 1\n---\nb: *x\n") == ["3:4 unknown-alias"])
    }

    @Test func `a space ends an anchor's name`() { #expect(places("a: &x:y z\n") == ["1:4 leading-character"]) }

    @Test func `an alias may be a key`() throws { #expect(outline(try root("a: &x k\n*x : 1\n")) == #"{a: "k", k: 1}"#) }

    @Test func `exponential growth by aliases is refused at once`() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        for level in 1...20 {
            text += "a\(level): &a\(level) [" + Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ") + "]\n"
        }
        let elapsed = ContinuousClock().measure { #expect(faults(text).map(\.code) == [.aliasExpansion]) }
        #expect(elapsed < .seconds(60))
    }

    @Test func `repeated long texts count by their length`() {
        let text =
            "a: &a \"" + String(repeating: "x", count: 100_000) + "\"\nb: ["
            + Array(repeating: "*a", count: 1000).joined(separator: ",") + "]\n"
        #expect(faults(text, limits: Limits(nodes: 100_000)).map(\.code) == [.aliasExpansion])
    }

    @Test func `aliases cannot exceed the limit of nesting`() {
        var text = "a0: &a0 [[[[[[[[[[]]]]]]]]]]\n"
        for level in 1...20 { text += "a\(level): &a\(level) [[[[[[[[[*a\(level - 1)]]]]]]]]]\n" }
        #expect(faults(text).map(\.code) == [.tooDeep])
    }

    @Test func `an alias inside its own node is refused`() {
        #expect(places("a: &x [1, *x]\n") == ["1:11 recursive-alias"])
        #expect(places("a: &x\n  b: {c: *x}\n") == ["2:10 recursive-alias"])
    }

    @Test func `an unknown alias is reported with a correction`() throws {
        let fault = try #require(faults("when: *task\n").first)
        #expect(fault.code == .unknownAlias)
        #expect(fault.corrected == "when: \"*task\"")
    }

    @Test func `the limits of depth, size and number of nodes are enforced`() {
        #expect(faults(String(repeating: "[", count: 100_000)).first?.code == .tooDeep)
        #expect(faults(String(repeating: "- ", count: 100_000)).first?.code == .tooDeep)
        #expect(faults("a: b\n", limits: Limits(bytes: 4)).map(\.code) == [.tooLarge])
        #expect(faults("[a, b, c]\n", limits: Limits(nodes: 3)).map(\.code) == [.tooManyNodes])
        #expect(faults("[a, b]\n", limits: Limits(nodes: 3)).isEmpty)
        #expect(faults("[[a]]\n", limits: Limits(depth: 1)).map(\.code) == [.tooDeep])
    }
}
