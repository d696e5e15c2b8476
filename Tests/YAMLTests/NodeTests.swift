import Testing
import YAML

@Suite struct NodeTests {
    @Test func `a mapping keeps its order and its places`() throws {
        let documents = try YAML.parse("rule: a\ndo:\n  - log: hällo\n  - {x: 1}\n")
        let root = try #require(documents.first?.root)
        #expect(root.mapping?.names == ["rule", "do"])
    }
}
