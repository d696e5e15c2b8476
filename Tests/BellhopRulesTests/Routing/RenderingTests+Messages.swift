import BellhopCore
import BellhopRules
import Testing

extension RenderingTests {
    @Test func `a list has a line for each element and states how many more there are`() throws {
        let step = """
            - notify:
                to: ops
                title: ${{ size(tasks) }} open tasks
                list:
                  of: tasks.sortBy(t, t.created)
                  as: t
                  item: "[${{ t.number }}](${{ t.url }}) ${{ t.title }} for ${{ task.number }}"
                  max: 2
                  empty: Nothing open. *Well* done, ${{ user }}.
            """
        let tasks = [3, 1, 2].map { number in
            Fixture.task(
                "t\(number)", number: "INC\(number)", title: Self.hostile,
                fields: ["created": .string("2026-01-0\(number)T00:00:00.000000Z")])
        }
        let message = try #require(try Self.message(step, tasks: tasks))
        #expect(message.title == [.value("3"), .text(" open tasks")])
        let links: [Message.Inline] = [1, 2].map { (number: Int) -> Message.Inline in
            .link(label: [.value("INC\(number)")], address: [.value("https://acme.service-now.com/task.do?sys_id=t\(number)")])
        }
        #expect(message.list?.items.compactMap(\.first) == links)
        #expect(message.list?.items.map(\.last) == [.value("INC0010021"), .value("INC0010021")])
        #expect(message.list?.items[0].contains(.value(Self.hostile)) == true)
        #expect(message.list?.more == 1)
        let none = try #require(try Self.message(step))
        #expect(none.list?.items == [])
        #expect(
            none.list?.empty == [
                .text("Nothing open. "), .emphasis([.text("Well")]), .text(" done, "), .value("john.doe"), .text("."),
            ])
    }

    @Test func `a message to several receivers is one delivery for each`() throws {
        let deliveries = try Self.route(
            "  - notify: {to: [ops, pager], title: x, severity: \"${{ task.priority == 1 ? 'critical' : 'info' }}\"}",
            fields: ["priority": 1])
        #expect(deliveries.map(\.id.receiver) == ["ops", "pager"])
        #expect(Set(deliveries.map(\.lane)) == ["r/ops/acme/a1", "r/pager/acme/a1"])
        #expect(deliveries.allSatisfy { $0.expires == Fixture.start + .days(1) })
        #expect(deliveries[0].arguments.message?.severity == .critical)
    }

    @Test func `a value in a message's link is encoded for its place and cannot change the link's host`() throws {
        let hostile = "a/../b?x=1&y=2#z |<!channel>) [c](https://evil.example) \u{202E}"
        let encoded =
            "a%2F..%2Fb%3Fx%3D1%26y%3D2%23z%20%7C%3C%21channel%3E%29%20%5Bc%5D%28https%3A%2F%2Fevil.example%29%20%E2%80%AE"
        func link(_ text: String, _ title: String = hostile) throws -> (address: String?, isFallback: Bool) {
            let message = try Self.message("  - notify: {to: ops, title: x, link: \"\(text)\"}", title: title)
            return (message?.link?.address, message?.isFallback ?? true)
        }
        #expect(try link("https://acme.example/t/${{ task.title }}").address == "https://acme.example/t/\(encoded)")
        #expect(try link("https://acme.example/?q=${{ task.title }}#a").address == "https://acme.example/?q=\(encoded)#a")
        #expect(try link("https://acme.example/t/${{ task.title }}", "..").isFallback)
        #expect(try link("https://${{ task.title }}/x", "evil.example/a@b").isFallback)
        #expect(try link("${{ task.title }}", "javascript:alert(1)").isFallback)
        #expect(try link("${{ task.title }}", "https://acme.example/a|b c").isFallback)
        let plain = try link("${{ task.title }}", "https://acme.example/a?b=c")
        #expect(plain.address == "https://acme.example/a?b=c" && !plain.isFallback)
        let none = try link("${{ task.title }}", "")
        #expect(none.address == nil && !none.isFallback)
    }

    @Test func `the link to the task shows the task's number, another one its address or its label`() throws {
        func label(_ link: String) throws -> String? {
            try Self.message("  - notify: {to: ops, title: x, link: \(link)}")?.link?.label
        }
        #expect(try label("\"${{ task.url }}\"") == "INC0010021")
        #expect(try label("\"https://acme.example/a\"") == "https://acme.example/a")
        #expect(try label("{label: Open, address: \"${{ task.url }}\"}") == "Open")
    }

    @Test func `a section with nothing but an empty list is left out, unless it has a text for it`() throws {
        let list = "of: \"tasks.filter(t, false)\", as: t, item: x"
        let message = try Self.message(
            """
              - notify:
                  to: ops
                  sections:
                    - {title: Left out, list: {\(list)}}
                    - {title: Empty, list: {\(list), empty: None.}}
                    - {title: Text, text: Help, list: {\(list)}}
                    - {title: Heading}
            """)
        #expect(message?.sections.map(\.title.plainText) == ["Empty", "Text", "Heading"])
    }

    @Test func `a message whose template fails is sent as a plain one that says so`() throws {
        let deliveries = try Self.route("  - notify: {to: ops, title: \"${{ 1 / (size(task.title) - 4) }}\"}")
        let message = try #require(deliveries.first?.arguments.message)
        #expect(deliveries[0].initial == .available)
        #expect(message.isFallback)
        #expect(message.title.plainText == "INC0010021 Help")
        #expect(message.link == Message.Link(label: "INC0010021", address: "https://acme.service-now.com/task.do?sys_id=a1"))
        #expect(message.text.first.map { "\($0)" }?.contains("The message of rule ") == true)
        let severity = try Self.message("  - notify: {to: ops, title: x, severity: \"${{ task.title }}\"}")
        #expect(severity?.isFallback == true)
    }

    @Test func `a message that cannot be rendered stays in its thread and closes it, unless its condition fails`() throws {
        let failing = "1 / (size(task.title) - 4)"
        func place(_ thread: String, if condition: String = "task.number != ''") throws -> String {
            let step =
                "  - {notify: {to: pager, title: \"${{ \(failing) }}\", thread: \"\(thread)\", resolve: true}, if: \"\(condition)\"}"
            let message = try #require(try Self.message(step))
            #expect(message.isFallback)
            return "\(message.thread ?? "none") \(message.resolve)"
        }
        #expect(try place("t-${{ task.id }}") == "t-a1 true")
        #expect(try place("t-${{ \(failing) }}") == "none false")
        #expect(try place("t-${{ task.id }}", if: "\(failing) == 1") == "t-a1 false")
    }

    @Test func `a message that cannot be rendered is as urgent and mentions the same people, as far as these can be rendered`()
        throws
    {
        let failing = "string(1 / (size(task.title) - 4))"
        func fallback(severity: String, user: String) throws -> Message {
            let step =
                "  - notify: {to: ops, title: \"${{ \(failing) }}\", severity: \"\(severity)\", mentions: [{user: \"\(user)\"}]}"
            let message = try #require(try Self.message(step))
            #expect(message.isFallback)
            return message
        }
        let whole = try fallback(severity: "critical", user: "U-${{ task.number }}")
        #expect(whole.severity == .critical && whole.mentions == [.user("U-INC0010021")])
        let mild = try fallback(severity: "${{ task.title == 'Help' ? 'warning' : 'info' }}", user: "${{ \(failing) }}")
        #expect(mild.severity == .warning && mild.mentions == [])
        let unknown = try fallback(severity: "${{ \(failing) }}", user: "U1")
        #expect(unknown.severity == .info && unknown.mentions == [.user("U1")])
    }

    @Test func `sections, mentions and the thread of a message are rendered`() throws {
        let message = try #require(
            try Self.message(
                """
                - notify:
                    to: ops
                    title: T
                    sections:
                      - {title: "New ${{ task.number }}", text: "**${{ task.title }}**", fields: {State: "${{ task.state }}"}}
                      - {title: Old, list: {of: tasks, as: t, item: "${{ t.number }}", empty: none}}
                    mentions: [{user: "U-${{ task.number }}"}, {group: oncall}, {user: "${{ task.urgency }}"}]
                    thread: ${{ task.id }}
                    update: ${{ task.title == 'Help' }}
                    resolve: true
                """, tasks: [Fixture.task(title: "x")]))
        #expect(message.sections.map(\.title.plainText) == ["New INC0010021", "Old"])
        #expect(message.sections[0].text == [.paragraph([.strong([.value("Help")])])])
        #expect(message.sections[0].fields.map(\.name.plainText) == ["State"])
        #expect(message.sections[1].list?.items == [[.value("INC0010021")]])
        #expect(message.mentions == [.user("U-INC0010021"), .group("oncall")])
        #expect(message.thread?.isEmpty == false)
        #expect(message.update && message.resolve)
    }

    @Test func `with skip_empty, a message whose lists are all empty is not sent, and the delivery says so`() throws {
        let list = "{of: tasks, as: t, item: \"${{ t.number }}\"}"
        func states(_ keys: String, tasks: [Snapshot]) throws -> [Delivery.InitialState] {
            try Self.route(
                "- notify: {to: [ops, pager], title: T, list: \(list), sections: [{list: \(list)}], \(keys)}", tasks: tasks
            )
            .map(\.initial)
        }
        let kept = Delivery.InitialState.done(Receipt("not sent: every list is empty"))
        #expect(try states("skip_empty: true", tasks: []) == [kept, kept])
        #expect(try states("skip_empty: true", tasks: [Fixture.task(title: "x")]) == [.available, .available])
        #expect(try states("skip_empty: false", tasks: []) == [.available, .available])
    }

    @Test func `blanks around a thread's key are ignored`() throws {
        func thread(_ key: String) throws -> [String?] {
            let book = try Fixture.book("rule: a\non: task_created\ndo: [{notify: {to: ops, title: T, thread: \"\(key)\"}}]")
            return book.route([Fixture.event()]).deliveries.map { $0.arguments.message?.thread }
        }
        #expect(try thread(" a b ") == ["a b"])
        #expect(try thread("a b\\n") == ["a b"])
        #expect(try thread("  ") == [nil])
    }

    @Test func `an alert is acknowledged in the lane of its messages, so never before it is opened nor after it is closed`()
        throws
    {
        var context = Fixture.context()
        context.connections.append(
            .init(name: "duty", kind: "pagerduty", actions: ["notify", "acknowledge"], messages: .init(threads: .yes)))
        context.actions.append(
            ActionManifest(
                kind: "acknowledge", summary: "Acknowledges.", receiver: .named,
                arguments: [
                    Setting("to", .list(.name), required: true, "Pagers."),
                    Setting("thread", .text, required: true, "A thread."),
                ]))
        for thread in [" INC1 ", String(repeating: "x", count: 5000)] {
            let lanes = try ["notify: {to: duty, title: T,", "acknowledge: {to: duty,"].map { step in
                let book = try Fixture.book(
                    "rule: \(step.prefix(3))\non: task_created\ndo: [{\(step) thread: \"\(thread)\"}}]", in: context)
                return book.route([Fixture.event()]).deliveries.map(\.lane)
            }
            #expect(lanes[0].count == 1 && lanes[0] == lanes[1], "\(lanes)")
        }
    }

    @Test func `messages of one thread to one receiver share a lane, also those of different rules`() throws {
        func lanes(_ rule: String, _ thread: String) throws -> [String] {
            let book = try Fixture.book(
                "rule: \(rule)\non: task_created\ndo: [{notify: {to: [ops, pager], title: T, thread: \"\(thread)\"}}]")
            return book.route([Fixture.event(.taskCreated, Fixture.task(title: "Help"))]).deliveries.map(\.lane)
        }
        let one = try lanes("a", "INC1")
        #expect(Set(one).count == 2)
        #expect(try lanes("b", "INC1") == one)
        #expect(try lanes("a", "INC2") != one)
        // A long key does not make a long lane.
        #expect(try lanes("a", String(repeating: "x", count: 5000)).allSatisfy { $0.utf8.count < 100 })
        #expect(try lanes("a", "").allSatisfy { $0.hasPrefix("a/") })
    }
}
