@testable import BellhopConnectors
import BellhopCore

enum SampleMessage {
    static let origin = MessageOrigin(
        delivery: "0123456789abcdef0123456789abcdef", rule: "tell-ops", task: SampleDelivery.task, time: SampleDelivery.now)

    /// A message with every kind of content.
    static let full = Message(
        title: [.value("INC0010021"), .text(" needs somebody")],
        text: [
            .paragraph([
                .text("See "), .strong([.text("now"), .value("!")]), .text(" or "), .emphasis([.text("soon")]), .text(": "),
                .code([.value("rm -rf")]), .lineBreak,
                .link(label: [.value("the task")], address: [.text("https://x.example/"), .value("a b")]),
            ]),
            .paragraph([.text("Second.")]),
            .list(ordered: true, items: [[.text("one")], [.value("two")]]),
        ],
        list: Message.List(
            items: [
                [.link(label: [.value("INC1")], address: [.value("https://x.example/1")]), .text(" a")], [.value("INC2 b")],
            ], more: 3),
        fields: [
            .init(name: [.text("State")], value: [.value("In Progress")]),
            .init(name: [.text("Group")], value: [.value("Network")]),
        ], severity: .critical, link: .init(label: "Open", address: "https://acme.service-now.com/x?y=1&z=2"))

    static func titled(_ title: String) -> Message { Message(title: [.value(title)]) }

    static func saying(_ value: String) -> Message {
        Message(
            title: [.value(value)], text: [.paragraph([.text("Says "), .value(value)])],
            list: .init(items: [[.value(value)]]), fields: [.init(name: [.text("Value")], value: [.value(value)])])
    }
}
