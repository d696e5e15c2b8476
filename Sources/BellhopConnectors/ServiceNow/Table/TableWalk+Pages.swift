import BellhopCore

extension TableWalk {
    /// One answered page.
    struct Page {
        var reply: ServiceNowReply
        /// Nil if it is the only page and the same as last time.
        var listing: Listing?
        var limit: Int
        /// The server's time of the answer.
        var began: Timestamp
    }

    /// One page, made as small as the server requires.
    func page(at spot: Spot, isFirst: Bool = false) async throws(Failure) -> Page {
        while true {
            let limit = state.limit
            do throws(Failure) {
                let sent = clock.now
                let reply = try await ask.page(walk.query(filter, after: spot.place), offset: spot.offset, limit: limit)
                state.note(reply, at: clock.now)
                let began = min(reply.serverTime ?? sent, state.serverTime(clock.now))
                if isFirst, let last, let total = reply.total, total <= limit,
                    Fingerprint(content: reply.body, seed: seed) == last
                {
                    return Page(reply: reply, limit: limit, began: began)
                }
                let listing = try scan(reply.body)
                state.succeed()
                return Page(reply: reply, listing: listing, limit: limit, began: began)
            } catch {
                // The server's time limit, a cut answer, or one over Bellhop's limit: a smaller page may help.
                guard [.quota, .badAnswer, .tooLarge, .cut].contains(error.reason), state.shrink() else { throw error }
            }
        }
    }

    func outcome(at spot: Spot) async -> Result<Page, Failure> {
        do throws(Failure) { return .success(try await page(at: spot)) } catch { return .failure(error) }
    }

    private func scan(_ body: [UInt8]) throws(Failure) -> Listing {
        do {
            return try Listing(body, shape: ask.shape)
        } catch {
            throw Failure(
                .badAnswer, .retry(after: nil),
                "The rows of \(ask.table) on \(ask.session.base.place) cannot be read: \(error.description).")
        }
    }
}
