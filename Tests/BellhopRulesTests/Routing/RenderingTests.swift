import BellhopCore
import BellhopRules
import Testing

@Suite struct RenderingTests {
    static let hostile = "<!channel> ${{ secret.x }} \"; DROP TABLE **bold** [a](javascript:x)"

    static func route(
        _ steps: String, fields: JSON.Object = [:], title: String = "Help", keys: String = "from: my-work", tasks: [Snapshot] = []
    ) throws -> [Delivery] {
        let book = try Fixture.book("rule: r\non: task_created\n\(keys)\ndo:\n\(steps)")
        return book.route(
            [Fixture.event(.taskCreated, Fixture.task(title: title, fields: fields))], tasks: [Fixture.scope: tasks]
        ).deliveries
    }

    private static func values(_ step: String, fields: JSON.Object = [:], title: String = "Help") throws -> JSON {
        guard case .values(let values)? = try route(step, fields: fields, title: title).first?.arguments else { return .null }
        return .object(values)
    }

    static func message(_ step: String, title: String = "Help", tasks: [Snapshot] = []) throws -> Message? {
        try route(step, title: title, tasks: tasks).first?.arguments.message
    }

    @Test func `a string that is a single template keeps the value's type`() throws {
        let json =
            try Self.values(
                """
                - webhook:
                    url: https://x.example/
                    json:
                      int: ${{ task.priority }}
                      text: "${{ task.priority }}!"
                      bool: ${{ task.active }}
                      double: ${{ task.cost }}
                      none: ${{ task.urgency }}
                      time: ${{ task.due_date }}
                      list: "${{ [1, 'a', null] }}"
                      map: "${{ {'a': task.number} }}"
                      nested: [{deep: "${{ 1 + 1 }}"}]
                      literal: $${{ task.number }}
                      plain: [1, 1.5, true, null, "x"]
                      joined: "${{ [1, 2] }} ${{ {'a': 1} }} ${{ task.urgency }}${{ task.due_date }}"
                """,
                fields: ["priority": 1, "active": true, "cost": 2.5, "due_date": "2026-07-01T10:00:00.000000Z"])["json"] ?? .null
        let expected: JSON = [
            "int": 1, "text": "1!", "bool": true, "double": 2.5, "none": .null, "time": "2026-07-01T10:00:00Z",
            "list": [1, "a", .null],
            "map": ["a": "INC0010021"], "nested": [["deep": 2]], "literal": "${{ task.number }}",
            "plain": [1, 1.5, true, .null, "x"],
            "joined": "[1,2] {\"a\":1} 2026-07-01T10:00:00Z",
        ]
        #expect(json == expected)
    }

    @Test(arguments: [
        ("90m", "1h30m"), ("266657.601388s", "3d2h4m17s"), ("-90.5s", "-1m30s"), ("250ms", "250ms"), ("0s", "0s"),
    ])
    func `a duration is inserted in its largest units, and keeps its form in JSON`(_ span: String, _ shown: String) throws {
        let message = try Self.message("- notify: {to: ops, title: \"after ${{ duration('\(span)') }}\"}")
        #expect(message?.title.plainText == "after \(shown)")
        let json = try Self.values("- webhook: {url: \"https://x.example/\", json: {span: \"${{ duration('90m') }}\"}}")["json"]
        #expect(json?["span"] == "5400s")
    }

    private static func rendered(_ step: String, _ argument: String, title: String) throws -> String {
        shown(argument, of: try #require(try route(step, title: title).first))
    }

    private static func shown(_ argument: String, of delivery: Delivery) -> String {
        if let failure = delivery.death { return "dead: \(failure.message)" }
        guard case .values(let values) = delivery.arguments else { return "" }
        return values[argument].map { $0.asString ?? $0.text } ?? ""
    }

    @Test func `a value in an address is encoded as one path segment or one query value`() throws {
        let step = #"- webhook: {url: "https://x.example/a/${{ task.title }}/b?q=${{ task.title }}&r=1#${{ task.title }}"}"#
        func url(_ title: String) throws -> String { try Self.rendered(step, "url", title: title) }
        #expect(try url("INC1") == "https://x.example/a/INC1/b?q=INC1&r=1#INC1")
        #expect(
            try url("../x?y=1&z=é +#@:") == "https://x.example/a/..%2Fx%3Fy%3D1%26z%3D%C3%A9%20%2B%23%40%3A/b"
                + "?q=..%2Fx%3Fy%3D1%26z%3D%C3%A9%20%2B%23%40%3A&r=1#..%2Fx%3Fy%3D1%26z%3D%C3%A9%20%2B%23%40%3A")
        #expect(try url("..").hasPrefix("dead: a value adds a segment `.` or `..` to the path of an address"))
        #expect(try url(".").hasPrefix("dead: "))
        // With the accent, the last slash of the value is one character for Swift.
        let inserted = try Self.rendered(
            #"- webhook: {url: "${{ task.title }}/b"}"#, "url", title: "https://x.example/../\u{301}x")
        #expect(inserted.hasPrefix("dead: a value adds a segment `.` or `..` to the path of an address"), "\(inserted)")
    }

    @Test func `a value in the path of an API is one segment, and a value that is the whole path keeps its slashes`() throws {
        var context = Fixture.context()
        context.connections.append(.init(name: "api", kind: "http", actions: ["rest"]))
        context.actions.append(
            ActionManifest(
                kind: "rest", summary: "Sends a request.", receiver: .named,
                arguments: [
                    Setting("to", .list(.name), required: true, "Connections."),
                    Setting("path", .either([.target, .list(.text)]), "Where."),
                ]))
        func path(_ path: String, _ title: String) throws -> String {
            let rule = "rule: r\non: task_created\nfrom: my-work\ndo: [{rest: {to: api, path: \(path)}}]"
            let book = try Fixture.book(rule, in: context)
            let event = Fixture.event(.taskCreated, Fixture.task(title: title))
            return Self.shown("path", of: try #require(book.route([event]).deliveries.first))
        }
        #expect(
            try path(#""tasks/${{ task.title }}?a=${{ task.title }}""#, "x/../?y&z")
                == "tasks/x%2F..%2F%3Fy%26z?a=x%2F..%2F%3Fy%26z")
        #expect(try path(#""${{ task.title }}""#, "tasks/a b?c=1") == "tasks/a%20b%3Fc%3D1")
        #expect(try path(#""tasks/${{ task.title }}""#, "..").hasPrefix("dead: "))
        #expect(try path(#"["tasks", "${{ task.title }}"]"#, "a/b") == #"["tasks","a/b"]"#)
    }

    @Test(arguments: ["evil.example/", "x@evil.example", "h:22", "a?b", "[::1]", "a\\b", "a#"])
    func `a value in a host may only be a part of its name`(_ title: String) throws {
        let outcome = try Self.rendered(#"- webhook: {url: "https://${{ task.title }}.example.com/"}"#, "url", title: title)
        #expect(outcome.hasPrefix("dead: a value inserted into the host of an address"), "\(outcome)")
    }

    @Test func `a delivery is marked if a value decides its host`() throws {
        func isComputed(_ url: String) throws -> Bool {
            try Self.values("- webhook: {url: \(url)}", title: "https://x.example")["computed_host"] == true
        }
        #expect(try isComputed(#""${{ task.title }}""#))
        #expect(try isComputed(#""${{ task.title }}/hook""#))
        #expect(try isComputed(#""https://${{ task.number }}.example.com/""#))
        #expect(try isComputed(#""https://example.com${{ task.number }}""#))
        #expect(try isComputed(#""https://example.com:${{ 443 }}/""#))
        #expect(try !isComputed(#""https://example.com/${{ task.number }}""#))
        #expect(try !isComputed(#""https://example.com?x=${{ task.number }}""#))
        #expect(try !isComputed("https://example.com/"))
    }

    @Test func `a value in the path of a file may only be a part of its name`() throws {
        func file(_ path: String, _ title: String) throws -> String {
            try Self.rendered("- log: {text: x, file: \(path)}", "file", title: title)
        }
        #expect(try file(#""logs/${{ task.title }}.log""#, "INC1") == "logs/INC1.log")
        #expect(try file(#""logs/a${{ task.title }}""#, "..") == "logs/a..")
        #expect(try file(#""logs/.${{ task.title }}""#, "x") == "logs/.x")
        #expect(try file(#""${{ task.title }}""#, "x.log") == "x.log")
        for title in ["/etc/passwd", "a/b", "../x", "a\nb"] {
            for path in [#""logs/${{ task.title }}.log""#, #""${{ task.title }}""#] {
                let outcome = try file(path, title)
                #expect(outcome.hasPrefix("dead: a value inserted into the name of a file has a"), "\(outcome)")
            }
        }
        for title in ["..", ".", ".hidden", ".\u{301}"] {
            let outcome = try file(#""logs/${{ task.title }}""#, title)
            #expect(outcome.hasPrefix("dead: a value must not make the name of a file begin with a dot"), "\(outcome)")
        }
        #expect(try file(#""logs/${{ task.title }}.log""#, "").hasPrefix("dead: a value must not make"))
        #expect(try file(#""logs/${{ task.title }}""#, "").hasPrefix("dead: the value inserted into"))
        #expect(
            try file(#""logs/${{ task.title }}""#, String(repeating: "x", count: 256)).hasPrefix("dead: the name of the file"))
    }

    @Test func `a step's name is stored with its deliveries`() throws {
        let deliveries = try Self.route("- {name: tell-ops, log: x}\n- log: y")
        #expect(deliveries.map(\.name) == ["tell-ops", nil])
    }

    @Test func `times are rendered in the rule's zone`() throws {
        let book = try Fixture.book(
            "rule: r\non: {schedule: \"30 8 * * *\", timezone: Europe/Berlin}\ndo:\n  - log: ${{ timestamp(\"2026-07-01T10:00:00Z\") }}"
        )
        let due = try #require(book.registrations(at: Fixture.start)[0].schedule?.next)
        let routing = book.route(book.fire("r", due: due, at: due).events, at: due)
        #expect(routing.deliveries.map(\.line) == [#"r/0 log → log: {"level":"info","text":"2026-07-01T12:00:00+02:00"}"#])
    }

    @Test func `templates work in arguments of all types`() throws {
        let step =
            "  - webhook: {url: \"https://x.example/${{ task.id }}\", timeout: \"${{ duration('90s') }}\", expect: \"${{ [200, 204] }}\", query: {a: \"${{ task.priority }}\"}, headers: \"${{ {'X-A': task.number} }}\"}"
        let expected: JSON = [
            "method": "POST", "url": "https://x.example/a1", "timeout": 90_000_000, "expect": [200, 204], "query": ["a": "1"],
            "headers": ["X-A": "INC0010021"],
        ]
        #expect(try Self.values(step, fields: ["priority": 1]) == expected)
    }

    @Test func `a block's trailing newline is dropped`() throws {
        #expect(try Self.values("  - log: |\n      a\n      ${{ task.number }}\n")["text"] == "a\nINC0010021")
        #expect(try Self.values("  - log:\n      text: >\n        a\n        b\n")["text"] == "a b")
        #expect(try Self.values("  - log: {text: 0123}")["text"] == "0123")
    }

    @Test func `text from people arrives as text`() throws {
        #expect(try Self.values("  - log: ${{ task.title }}", title: Self.hostile)["text"] == .string(Self.hostile))
        #expect(
            try Self.values("  - webhook: {url: https://x.example/, json: {t: \"${{ task.title }}\"}}", title: Self.hostile)[
                "json"] == ["t": .string(Self.hostile)])
        let message = try Self.message(
            "  - notify: {to: ops, title: \"New: ${{ task.title }}\", text: \"**${{ task.title }}** [${{ task.title }}](${{ task.url }})\"}",
            title: Self.hostile)
        #expect(message?.title == [.text("New: "), .value(Self.hostile)])
        #expect(
            message?.text == [
                .paragraph([
                    .strong([.value(Self.hostile)]), .text(" "),
                    .link(label: [.value(Self.hostile)], address: [.value("https://acme.service-now.com/task.do?sys_id=a1")]),
                ])
            ])
    }

    @Test func `any other step whose template fails is dead and visible`() throws {
        let book = try Fixture.book(
            """
            rule: r
            on: task_created
            from: my-work
            do:
              - log: ${{ 1 / (size(task.title) - 4) }}
              - log: after
              - comment: ${{ [1][size(task.title)] }}
                on_error: stop
              - log: never
            """)
        let routing = book.route([Fixture.event(.taskCreated, Fixture.task(title: "Help"))])
        #expect(
            routing.deliveries.map(\.line) == [
                "r/0 log → log: {} (dead, unrenderable: division by zero)", #"r/1 log → log: {"level":"info","text":"after"}"#,
                "r/2 comment → snow: {} (dead, unrenderable: index out of range: 4)",
            ])
        #expect(routing.events.map(\.type) == [.deliveryDead, .deliveryDead])
        #expect(routing.events.map(\.hop) == [1, 1])
        #expect(routing.tallies.map(\.errors) == [2])
        #expect(routing.tallies[0].lastError == "step 2 (comment): index out of range: 4")
    }

    @Test func `a value computed from a null is inserted as an empty text`() throws {
        #expect(try Self.values("  - log: a${{ task.priority + 1 }}b${{ task.urgency }}c")["text"] == "abc")
        #expect(try Self.route("  - log: x\n    if: task.priority > 1") == [])
    }

    @Test func `a step can write to another task on the same connection`() throws {
        let step = "  - comment: {text: x, task: \"${{ task.parent }}\"}"
        let delivery = try #require(try Self.route(step, fields: ["parent": "p1"]).first)
        #expect(delivery.lane == "task/snow/p1")
        #expect(delivery.task?.key == "p1")
        #expect(delivery.task?.subject == "acme/p1")
        #expect(delivery.line == #"r/0 comment → snow: {"text":"x","visibility":"internal"}"#)
        let none = try #require(try Self.route(step, fields: ["parent": ""]).first)
        #expect(none.line == "r/0 comment → snow: {} (dead, unrenderable: `task` names no task)")
    }

    @Test(arguments: ["a1", "\u{301}a1"])
    func `the subject of another task has the whole address of the event's instance`(_ key: String) throws {
        let book = try Fixture.book("rule: r\non: task_created\nfrom: my-work\ndo:\n- comment: {text: x, task: p1}")
        var event = Fixture.event()
        event.subject = "https://acme.service-now.com/\(key)"
        let delivery = try #require(book.route([event]).deliveries.first)
        #expect(delivery.task?.subject == "https://acme.service-now.com/p1")
    }

    @Test func `a step can set its number of attempts and its expiry`() throws {
        let deliveries = try Self.route(
            "  - log: a\n    retry: 3\n    expires: 5m\n  - log: b\n    retry: {attempts: 2, wait: 1s, max_wait: 1m}\n  - log: {text: c, file: logs/c.log}\n  - webhook: {url: 'https://x.example/'}"
        )
        #expect(deliveries.map(\.retry.attempts) == [3, 2, 15, 26])
        #expect(deliveries[1].retry == RetryPolicy(attempts: 2, base: .seconds(1), cap: .seconds(60)))
        #expect(deliveries.map(\.expires) == [Fixture.start + .seconds(300), nil, nil, nil])
        #expect(deliveries.map(\.id.receiver) == ["log", "log", "logs/c.log", "https://x.example/"])
    }

    @Test(arguments: ["", "mode: shadow\n", "when: task.priority == 9\n", "once: task.id\n", "enabled: false\n"])
    func `the rendered steps equal the delivered ones, whether the rule would run or not`(_ more: String) throws {
        func book(_ more: String) throws -> RuleBook {
            try Fixture.book(
                """
                rule: r
                on: task_created
                from: my-work
                \(more)do:
                  - notify: {to: ops, title: "${{ task.number }}", text: "${{ task.title }}"}
                  - comment: "Seen: ${{ task.title }}"
                  - notify: {to: ops, title: "${{ task.priority }}"}
                    if: task.priority == 9

                """)
        }
        let task = Fixture.task(title: Self.hostile, fields: ["priority": 1])
        let event = Fixture.event(.taskCreated, task)
        let delivered = try book("").route([event], tasks: [Fixture.scope: []]).deliveries
        let stored = StoredEvent(sequence: 1, event: event)
        let run = try #require(try book(more).render("r", for: .event(stored), tasks: [Fixture.scope: []], at: Fixture.start))
        #expect(delivered.count == 2)
        #expect(run.deliveries.map(\.arguments) == delivered.map(\.arguments))
        #expect(run.deliveries.map(\.id) == delivered.map(\.id))
        #expect(run.errors == [])
        #expect(run.objections.count == (more.contains("when") || more.contains("enabled") ? 1 : 0))
        let ofTask = try #require(
            try book(more).render("r", for: .task(task, source: "my-work"), tasks: [Fixture.scope: []], at: Fixture.start))
        #expect(ofTask.deliveries.map(\.arguments) == delivered.map(\.arguments))
    }

    @Test func `the steps of an escalation are rendered too, and the messages that close what it opened`() throws {
        // Without a configuration, each receiver may be a pager.
        let book = try Fixture.book(
            """
            rule: r
            on: task_created
            do: [{notify: {to: pager, title: "New: ${{ task.number }}"}}]
            escalate:
              - {after: 15m, do: [{log: "${{ task.number }} waits"}]}
              - {after: 1h, repeat: {every: 30m, times: 3}, do: [{log: "${{ task.number }} is late"}]}

            """, isOpen: true)
        let stored = StoredEvent(sequence: 1, event: Fixture.event(.taskCreated, Fixture.task()))
        let run = try #require(book.render("r", for: .event(stored), tasks: [:], at: Fixture.start))
        #expect(run.deliveries.map(\.id.step.text) == ["0", "escalate.0.0", "escalate.1.0", "escalate.end.0"])
        #expect(run.errors == [])
    }
}
