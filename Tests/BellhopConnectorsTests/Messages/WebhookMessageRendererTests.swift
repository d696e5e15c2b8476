@testable import BellhopConnectors
import BellhopCore
import Testing

struct WebhookMessageRendererTests {
    @Test func `a message with every kind of content becomes the expected document`() throws {
        let expected = try JSON.parse(
            #"""
            {"type": "message", "id": "0123456789abcdef0123456789abcdef", "timestamp": "2026-01-05T09:00:00.000000Z",
             "rule": "tell-ops", "severity": "critical", "title": "INC0010021 needs somebody",
             "text": "See now! or soon: rm -rf\nthe task (https://x.example/a b)\n\nSecond.\n\n1. one\n2. two",
             "plain": "Critical: INC0010021 needs somebody\n\nSee now! or soon: rm -rf\nthe task (https://x.example/a b)\n\nSecond.\n\n1. one\n2. two\n\nState: In Progress\nGroup: Network\n\n- INC1 (https://x.example/1) a\n- INC2 b\nand 3 more\n\nOpen: https://acme.service-now.com/x?y=1&z=2",
             "fields": [{"name": "State", "value": "In Progress"}, {"name": "Group", "value": "Network"}],
             "list": {"items": ["INC1 (https://x.example/1) a", "INC2 b"], "more": 3, "empty": ""},
             "link": {"label": "Open", "address": "https://acme.service-now.com/x?y=1&z=2"}, "mentions": [],
             "thread": null, "update": false, "resolve": false, "sections": [],
             "task": {"id": "9d385017c611228701d22104cc95c371", "number": "INC0010021", "title": "My computer doesn't work",
               "class": "incident", "url": "https://acme.service-now.com/nav_to.do?uri=task.do", "source": "my-work",
               "subject": "acme/9d38"},
             "fallback": false}
            """#)
        let rendered = WebhookReceiver.render(SampleMessage.full, from: SampleMessage.origin)
        #expect(rendered == expected, "\(rendered.text(.pretty))")
    }

    @Test func `a missing value is null`() {
        let origin = MessageOrigin(delivery: "d", rule: "r", time: .epoch)
        let rendered = WebhookReceiver.render(SampleMessage.titled("t"), from: origin)
        for name in ["list", "link", "thread", "task"] { #expect(rendered[name] == .some(.null)) }
    }

    @Test func `the plain text of an empty list is its substitute text`() {
        var message = SampleMessage.titled("Digest")
        message.list = .init(items: [], empty: [.text("Nothing open.")])
        #expect(PlainRenderer.text(message) == "Digest\n\nNothing open.")
    }

    @Test func `the plain text of a message without a title begins with its severity alone`() {
        var message = SampleMessage.titled("")
        message.severity = .critical
        message.text = [.paragraph([.text("The disk is full.")])]
        #expect(PlainRenderer.text(message) == "Critical\n\nThe disk is full.")
    }
}
