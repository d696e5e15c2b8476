import BellhopCore
import BellhopRules
import Testing

@Suite struct RuleSchemaTests {
    @Test func `the schema of rules contains every key, event and action`() {
        let schema = RuleSchema.rules(actions: Fixture.actions)
        let rule = schema.at("$defs", "rule") ?? .null
        #expect(
            rule.at("properties")?.asObject?.keys == [
                "rule", "description", "on", "from", "when", "each", "for", "count", "group", "once", "throttle", "quiet",
                "until", "escalate", "let", "limit", "mode", "enabled", "do",
            ])
        let escalation = rule.at("properties", "escalate", "oneOf")?.asArray?.first?["properties"]
        #expect(escalation?.asObject?.keys == ["after", "repeat", "do"])
        #expect(escalation?["do"] == rule.at("properties", "do"))
        #expect(escalation?.at("repeat", "properties")?.asObject?.keys == ["every", "times"])
        #expect(rule["required"] == ["rule", "on", "do"])
        let modes = rule.at("properties", "mode", "anyOf")?.asArray
        #expect(modes?.first?["enum"] == ["live", "shadow"])
        #expect(modes?.last?.at("properties")?.asObject?.keys == ["canary"])
        let step = rule.at("properties", "do", "items", "properties")?.asObject
        #expect(step?.keys == ["if", "name", "retry", "expires", "on_error", "comment", "log", "webhook", "notify"])
        #expect(schema.at("$defs", "event", "enum")?.asArray?.contains("task_created") == true)
        #expect(schema.at("$defs", "event", "enum")?.asArray?.contains("schedule_due") == false)
        #expect(step?["comment"]?["oneOf"]?[1]?.at("properties")?.asObject?.keys == ["text", "visibility", "task"])
    }

    @Test func `the schema of tests contains all given events and expectations`() {
        let schema = RuleSchema.tests(actions: Fixture.actions)
        let test = schema.at("properties", "tests", "items", "properties") ?? .null
        #expect(test.asObject?.keys == ["name", "at", "only", "silences", "given", "expect"])
        #expect(test.at("given", "items", "properties", "wait") != nil)
        #expect(test.at("given", "items", "properties", "tasks") != nil)
        #expect(
            test.at("expect", "items", "properties", "notify", "properties")?.asObject?.keys == [
                "to", "title", "text", "list", "more", "fields", "severity", "sections", "mentions", "link", "thread", "update",
                "resolve",
            ])
    }
}
