import BellhopTesting
import Testing

@testable import Simulator

@Suite(.closing) struct ChatPageTests {
    @Test(arguments: [
        ("**a** *b* ***c*** `d*`", "<b>a</b> <i>b</i> <b><i>c</i></b> <code>d*</code>"),
        (#"\*a\* \<b\>"#, "*a* &lt;b&gt;"), ("&#42;a&#42; &lt;", "&#42;a&#42; &lt;"),
        ("a & <script>;", "a &amp; &lt;script&gt;;"),
        ("&<b>;", "&amp;&lt;b&gt;;"), ("[x](https://x.example/)", "<u>x</u> <small>https://x.example/</small>"),
        ("one\ntwo", "one<br>two"),
        ("**open", "<b>open</b>"),
    ])
    func `Markdown becomes HTML, and HTML in it stays text`(_ text: String, _ html: String) {
        #expect(ChatHTML.markdown(text) == html)
    }

    @Test func `the chat page shows messages and runs no script in them`() async throws {
        let office = Office()
        var client = try await office.open()
        client.authorization = nil
        let body = #"{"text":"<script>alert(1)</script> **New** \\*not\\*"}"#
        _ = try await client.send(.POST, "/mattermost/hooks/x", body: body, headers: [])
        let page = try await client.send(.GET, "/simulator/chats", body: "", headers: []).text
        #expect(!page.contains("<script>"))
        #expect(page.contains("iframe sandbox srcdoc"))
        #expect(page.contains("&lt;b&gt;New&lt;/b&gt; *not*"))
        #expect(page.contains("&amp;lt;script&amp;gt;"))
    }

    @Test func `the inbox shows alerts, notifications, rooms and mails, and runs no script in them`() async throws {
        let office = Office()
        let mail = """
            From: Bell <bell@example.com>
            Subject: A <b>mail</b>
            MIME-Version: 1.0
            Content-Type: multipart/alternative; boundary="x"

            --x
            Content-Type: text/plain; charset=utf-8
            Content-Transfer-Encoding: quoted-printable

            plain
            --x
            Content-Type: text/html; charset=utf-8
            Content-Transfer-Encoding: quoted-printable

            <p>shown</p><script>alert(4)</script>
            --x--

            """
        office.simulation.mail.keep(
            ReceivedMail(
                client: "x", sender: "bell@example.com", recipients: ["ops@example.com"], user: nil, isEncrypted: false,
                bytes: Array(mail.replacing("\n", with: "\r\n").utf8), time: 0))
        var client = try await office.open()
        client.authorization = nil
        let alert = """
            {"routing_key": "0123456789abcdef0123456789abcdef", "event_action": "trigger", "dedup_key": "k", "payload":
             {"summary": "Disk <script>alert(1)</script>", "source": "s", "severity": "critical", "custom_details": {"a": "<i>"}}}
            """
        let room = #"{"msgtype": "m.text", "body": "x", "formatted_body": "<b>room</b><script>alert(3)</script>"}"#
        let sent = [
            try await client.send(.POST, "/pagerduty/v2/enqueue", body: alert),
            try await client.send(.POST, "/ntfy", body: #"{"topic": "ops", "title": "<u>", "message": "<script>alert(2)"}"#),
            try await client.send(
                .PUT, "/matrix/_matrix/client/v3/rooms/!r:x/send/m.room.message/1", body: room,
                headers: [("Authorization", "Bearer t")]),
        ]
        #expect(sent.map(\.status) == [202, 200, 200])
        let page = try await client.send(.GET, "/simulator/inbox", body: "").text
        #expect(!page.contains("<script>") && !page.contains("<u>") && !page.contains("<i>"))
        for shown in [
            "Disk &lt;script&gt;alert(1)&lt;/script&gt;", "pagerduty, critical, open, key k", "&lt;script&gt;alert(2)",
            "topic ops, priority 3", "&lt;b&gt;room&lt;/b&gt;", "A &lt;b&gt;mail&lt;/b&gt;", "&lt;p&gt;shown&lt;/p&gt;",
            "from bell@example.com to ops@example.com", "iframe sandbox srcdoc",
        ] { #expect(page.contains(shown), "\(shown)") }
    }
}
