import Testing
import YAML

@Suite struct TrailingCommentTests {
    @Test func `a plain scalar has the comment after it`() throws {
        let node = try root("when: a == b   # CEL, ä\ntext: 'x' # y\nlist: [a # b\n  ]\n")
        let comment = try #require(node["when"]?.trailingComment)
        #expect(comment.text == "# CEL, ä")
        #expect(comment.range.description == "1:16-1:24")
        #expect(node["text"]?.trailingComment == nil)
        #expect(node["list"]?.items?.first?.trailingComment?.text == "# b")
    }

    @Test func `a template cut by a comment is reported with the corrected line`() throws {
        let node = try root("do:\n  - comment: Hello ${{ task.number # x }}\n")
        let fault = try #require(node["do"]?.items?.first?["comment"]?.cutByComment())
        #expect(fault.code == .cutByComment)
        #expect(fault.range.description == "2:36-2:42")
        #expect(fault.corrected == #"  - comment: "Hello ${{ task.number # x }}""#)
    }

    @Test(arguments: ["when: a == \"b # c\"", "when: f(a # b)", "when: x in [1, 2 # 3]", "when: x == 'a # b'"])
    func `a condition with an open bracket or quote counts as cut by the comment`(_ line: String) throws {
        #expect(try root(line)["when"]?.cutByComment() != nil)
    }

    @Test(arguments: [
        "when: a == b # c", "text: It's done # c", "text: Hello ${{ x }} # c", "when: f(a) # (", "when: a#b", "when: 'a' # b",
    ])
    func `a comment after a complete value is only a comment`(_ line: String) throws {
        #expect(try root(line)["when"]?.cutByComment() == nil)
        #expect(try root(line)["text"]?.cutByComment() == nil)
    }

    @Test func `a caller that found an incomplete value can ask for the corrected line`() throws {
        let node = try #require(try root("when: a == #b\n")["when"])
        let comment = try #require(node.trailingComment)
        #expect(node.cutByComment(comment).corrected == "when: \"a == #b\"")
    }
}
