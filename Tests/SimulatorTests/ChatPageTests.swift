import Testing

@testable import Simulator

@Suite struct ChatPageTests {
    @Test(arguments: [
        ("**a** *b* ***c*** `d*`", "<b>a</b> <i>b</i> <b><i>c</i></b> <code>d*</code>"),
        (#"\*a\* \<b\>"#, "*a* &lt;b&gt;"), ("&#42;a&#42; &lt;", "&#42;a&#42; &lt;"),
        ("a & <script>;", "a &amp; &lt;script&gt;;"),
        ("&<b>;", "&amp;&lt;b&gt;;"), ("[x](https://x.example/)", "<u>x</u> <small>https://x.example/</small>"),
        ("one\ntwo", "one<br>two"),
        ("**open", "<b>open</b>"),
    ])
    func `Markdown is shown with exactly its own markup`(_ text: String, _ html: String) {
        #expect(ChatHTML.markdown(text) == html)
    }

    @Test func `the page shows the messages and runs no script from them`() async throws {
        let office = Office()
        let page = try await office.open { client in
            client.authorization = nil
            let body = #"{"text":"<script>alert(1)</script> **New** \\*not\\*"}"#
            _ = try await client.send(.POST, "/mattermost/hooks/x", body: body, headers: [])
            return try await client.send(.GET, "/simulator/chats", body: "", headers: []).text
        }
        #expect(!page.contains("<script>"))
        #expect(page.contains("iframe sandbox srcdoc"))
        #expect(page.contains("&lt;b&gt;New&lt;/b&gt; *not*"))
        #expect(page.contains("&amp;lt;script&amp;gt;"))
    }
}
