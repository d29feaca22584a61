package dashboard

// pages are all pages, in the order of the navigation.
func pages() []*page {
	return []*page{
		overviewPage(), cardsPage(), cardPage(), transactionsPage(), transactionPage(), challengesPage(), depositsPage(),
		webhooksPage(), deliveryPage(), requestsPage(), ledgerPage(), worldPage(),
	}
}
